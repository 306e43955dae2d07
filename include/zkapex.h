/* zkapex: verifiable personalized machine unlearning, for programs in C and for whatever can call C.
 *
 * A provider fixes a deployment, clients register their models, the provider publishes a request, clients unlearn and
 * prove it, the provider verifies. Each step is one function here, and does what the command `zkapex` of the same name
 * does, to the same files, byte for byte where nothing is random. `zkapex COMMAND --help` says what a step means.
 *
 *   zkapex_session *s;
 *   if (zkapex_session_new(NULL, &s) != ZKAPEX_OK) ...
 *   zkapex_unlearn_options o = {.size = sizeof o, .client = "client", .request = "psi.zka",
 *                               .model_output = "unlearned.safetensors", .proof_output = "proof.zka"};
 *   if (zkapex_unlearn(s, &o) != ZKAPEX_OK) fprintf(stderr, "%s\n", zkapex_error_text(s));
 *   zkapex_free(s);
 *
 * Values.  Texts are UTF-8 and end with a NUL; names of files are texts. What came over a network is a buffer with its
 * length. Decimals that must be exact, such as a certified error, are texts: "1e-5". In options, NULL and 0 stand for
 * the default; `size` is the size of the struct, so that later versions may add fields at its end.
 *
 * Results.  Every function that can fail returns a zkapex_status. What it did is a JSON object, zkapex_report(), with
 * the names that the command's --json has. What went wrong is one sentence, zkapex_error_text(). No function throws,
 * exits, prints, or installs a handler for signals. A step that fails or is cancelled leaves no half-written file.
 *
 * Handles.  Those that a function gives are freed by zkapex_free. A handle that is NULL or of another kind is an error;
 * one that was freed is not detected reliably. A handle of one session may be used with another. No call begins with a
 * handle that is freed, or that another thread may be freeing. One that is freed while a call works with it, by another
 * thread or by the progress function, is freed when that call returns: its verdict holds, and a session's texts are
 * gone then.
 *
 * Threads.  One session is used by one thread at a time; a second one that tries is told ZKAPEX_BUSY, and so is a
 * progress function that calls back with its own session. Different sessions work in parallel. Deployments and requests
 * do not change: any number of threads may use them at once. A curvature writer is used by one thread at a time. A
 * client's folder and a provider's ledger are locked while a step works on them, also against other processes. The
 * progress function is called from the thread that called the step, and from no other. A process that was forked off
 * neither uses nor frees sessions that were made before: their threads are not in it.
 *
 * Memory.  The command disables core dumps and debuggers for itself, because a client's secret is in its memory; a
 * library does not do that to the program that loads it.
 */
#ifndef ZKAPEX_H
#define ZKAPEX_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZKAPEX_API __attribute__((visibility("default")))
#else
#define ZKAPEX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zkapex_status {
  ZKAPEX_OK = 0,        /* done, or accepted */
  ZKAPEX_REJECTED = 1,  /* verified, and not accepted: the report has the reason */
  ZKAPEX_ERROR = 2,     /* bad input, or the machine failed: zkapex_error_text() */
  ZKAPEX_CANCELLED = 3, /* the progress function said so */
  ZKAPEX_BUSY = 4       /* the session is in use; nothing of it was touched, its texts neither */
} zkapex_status;

typedef struct zkapex_session zkapex_session;       /* threads, memory, and the texts of the last call */
typedef struct zkapex_deployment zkapex_deployment; /* an open deployment */
typedef struct zkapex_request zkapex_request;       /* an open request */
typedef struct zkapex_curvature zkapex_curvature;   /* a curvature store that is being written */

typedef struct zkapex_buffer {
  const void* data;
  size_t length; /* in bytes */
} zkapex_buffer;

/* "0.1.0". */
ZKAPEX_API const char* zkapex_version(void);

/* ---- sessions ---- */

/* Hears of `stage` ("proving") that `done` of `total` parts are done. Anything but 0 cancels the step: at the next part
 * that is done, before anything is written. */
typedef int (*zkapex_progress)(void* user, const char* stage, uint64_t done, uint64_t total);

typedef struct zkapex_session_options {
  size_t size;
  unsigned threads;  /* at most 1024; 0: one for each processor */
  uint64_t memory;   /* bytes that decide how work is cut; 0: 640 MiB */
  const char* cache; /* folder of generators; NULL: as the command chooses; "": none */
  zkapex_progress progress;
  void* user; /* for the progress function */
} zkapex_session_options;

/* `options` may be NULL. */
ZKAPEX_API zkapex_status zkapex_session_new(const zkapex_session_options* options, zkapex_session** out);

/* What went wrong in the last call with the session: "" after a call that did not fail. The text is valid until the
 * next call with the session. For NULL: why this thread's last zkapex_session_new failed. */
ZKAPEX_API const char* zkapex_error_text(const zkapex_session* session);

/* What the last call with the session did, as a JSON object: "{}" after a call that failed. Valid as the text above. */
ZKAPEX_API const char* zkapex_report(const zkapex_session* session);

/* Any handle, or NULL. A curvature writer that is not finished keeps what it has for a later run. */
ZKAPEX_API void zkapex_free(void* handle);

/* What a deployment, a request or a curvature writer is, in the report. Of a deployment also `covered_tensors`: for
 * each its name, shape, number of weights, and first Fisher block and number of these. Of a writer `written`, the
 * blocks that are there, and `blocks`, those that there will be. */
ZKAPEX_API zkapex_status zkapex_describe(zkapex_session* session, const void* handle);

/* ---- deployments (provider) ---- */

typedef struct zkapex_deploy_options {
  size_t size;
  const char* model; /* a safetensors file, an index of shards, or a folder with one of them */
  const char* base;  /* the base model, where it is not the model itself */
  const char* output;
  const char* preset;        /* "vit", "vit-fc1" or "opt" */
  const char* const* covers; /* patterns of names; {i} stands for a number, * for anything */
  size_t cover_count;
  const char* const* frees; /* patterns of tensors that may be anything */
  size_t free_count;
  uint64_t block;      /* weights in a Fisher block; 0: 256 */
  uint64_t row_length; /* 0 chooses */
  uint32_t bits;       /* of an entry of the curvature's factors; 0: 8 */
  uint64_t floor;      /* smallest eigenvalue of the scaled curvature; 0: 4 */
  uint32_t fraction_bits;
  uint32_t width;     /* of a weight, in bits; both 0: 36 and 40 */
  const char* error;  /* "1e-5" */
  const char* cap;    /* "4", or a fraction */
  const char* anchor; /* "0.4" */
  const char* drift;
  const char* added;
  int no_anchor;
  int allow_loose;
  int force; /* replace the output if it exists */
} zkapex_deploy_options;

/* Writes a deployment file. */
ZKAPEX_API zkapex_status zkapex_deploy(zkapex_session* session, const zkapex_deploy_options* options);

ZKAPEX_API zkapex_status zkapex_deployment_open(zkapex_session* session, const char* path, zkapex_deployment** out);

/* ---- requests (provider) ---- */

typedef struct zkapex_request_options {
  size_t size;
  const char* deployment;
  const char* output;
  const char* window;     /* a name, never used before */
  const char* scores;     /* safetensors with one score for each covered weight; with ratio, or neither */
  const char* ratio;      /* how many of the highest are removed: "0.04" */
  const char* after;      /* the request before this one, which it will contain */
  const char* method;     /* that made the guide, by name */
  const char* operation;  /* "group-obs", "mask-only" or "guided"; NULL: guided with a guide, else group-obs */
  const char* guide_from; /* a checkpoint that has unlearned, and the one that it started from */
  const char* guide_base;
  double guide_scale; /* 0: 1 */
  uint64_t pull;      /* 0: 16129 */
  const char* progress;
  const char* distance;
  const char* distance_removed;
  const char* nonce; /* 64 hexadecimal digits; NULL: fresh ones */
  int force;
} zkapex_request_options;

/* Writes a request file. */
ZKAPEX_API zkapex_status zkapex_request_make(zkapex_session* session, const zkapex_request_options* options);

/* Only a request that was made for the deployment. */
ZKAPEX_API zkapex_status zkapex_request_open(zkapex_session* session, const char* path,
                                             const zkapex_deployment* deployment, zkapex_request** out);

/* ---- curvature (client) ---- */

typedef enum zkapex_type { ZKAPEX_F32 = 1, ZKAPEX_F64 = 2 } zkapex_type;

typedef struct zkapex_curvature_options {
  size_t size;
  const zkapex_deployment* deployment;
  const char* output;
  const char* run;         /* all that decides the blocks; a writer of the same run goes on with what an earlier one
                              left, one of another run is refused. NULL: starts anew */
  double relative_damping; /* as a fraction of a block's mean diagonal; 0: 0.2 */
  double damping;          /* itself; 0: the relative one */
  int force;
} zkapex_curvature_options;

ZKAPEX_API zkapex_status zkapex_curvature_open(zkapex_session* session, const zkapex_curvature_options* options,
                                               zkapex_curvature** out);

/* The next `count` Fisher blocks, in the order of the covered tensors by name, and of the weights of each. Averaged
 * already, B x B numbers each, of which the lower triangle is read; a tensor's last block is padded with anything.
 * `data.length` is exactly that of count * B * B numbers. */
ZKAPEX_API zkapex_status zkapex_curvature_blocks(zkapex_session* session, zkapex_curvature* curvature, zkapex_type type,
                                                 zkapex_buffer data, uint64_t count);

/* The same from per-sample gradients, which are averaged here: `samples` rows of `width` numbers, each row `stride`
 * numbers behind the one before. The weights are those that come next; they end with a block, and are of one tensor.
 * `data.length` is exactly that of (samples - 1) * stride + width numbers. */
ZKAPEX_API zkapex_status zkapex_curvature_gradients(zkapex_session* session, zkapex_curvature* curvature,
                                                    zkapex_type type, zkapex_buffer data, uint64_t samples,
                                                    uint64_t width, uint64_t stride);

/* Only with all blocks written: the store appears under its name. The report has statistics. */
ZKAPEX_API zkapex_status zkapex_curvature_finish(zkapex_session* session, zkapex_curvature* curvature);

/* ---- a client's steps ---- */

typedef struct zkapex_register_options {
  size_t size;
  const char* deployment;
  const char* model;
  const char* curvature;
  const char* base;   /* the base model; NULL only where the deployment has no anchor */
  const char* client; /* its identifier */
  const char* output; /* its folder */
  int force;
} zkapex_register_options;

ZKAPEX_API zkapex_status zkapex_register(zkapex_session* session, const zkapex_register_options* options);

typedef struct zkapex_unlearn_options {
  size_t size;
  const char* client; /* folder */
  const char* request;
  const char* model_output;
  const char* proof_output;
  const char* model; /* where they are now, if not where they were */
  const char* curvature;
  const char* max_guide; /* "0.5" */
  int dry_run;           /* only show what the request would do: no proof, and a model only if it is asked for */
  int force;
} zkapex_unlearn_options;

ZKAPEX_API zkapex_status zkapex_unlearn(zkapex_session* session, const zkapex_unlearn_options* options);

typedef struct zkapex_update_options {
  size_t size;
  const char* client; /* folder */
  const char* model;
  const char* curvature; /* NULL: the committed one stays */
  const char* base;
  const char* output;
  int force;
} zkapex_update_options;

ZKAPEX_API zkapex_status zkapex_update(zkapex_session* session, const zkapex_update_options* options);

typedef struct zkapex_settle_options {
  size_t size;
  const char* client; /* folder */
  int accepted;       /* exactly one of the two */
  int rejected;
  int update;         /* the verdict is about an update */
  const char* window; /* which, where several are pending */
  const char* sent;   /* the file that was sent, where there are several attempts */
  int all;            /* rejected: all attempts of the window */
} zkapex_settle_options;

ZKAPEX_API zkapex_status zkapex_settle(zkapex_session* session, const zkapex_settle_options* options);

/* ---- a provider's verdicts ---- */

typedef struct zkapex_provider {
  size_t size;
  const char* ledger; /* folder; zkapex_admit makes it */
  const zkapex_deployment* deployment;
  const char* base; /* for registrations and updates; NULL only where the deployment has no anchor */
} zkapex_provider;

/* What a client handed in, registration or update. Accepted, it is in the ledger. */
ZKAPEX_API zkapex_status zkapex_admit(zkapex_session* session, const zkapex_provider* provider, zkapex_buffer file);
ZKAPEX_API zkapex_status zkapex_admit_update(zkapex_session* session, const zkapex_provider* provider,
                                             zkapex_buffer file);

/* Notes a request in the ledger: right before anybody outside sees it, and after the first zkapex_admit, which makes
 * the ledger. Proofs that start from a registration or an update that is admitted later are rejected (`order`): a
 * client that knows the request can choose a model that it changes little. The same request again changes nothing; a
 * second one for a window of that name is an error. */
ZKAPEX_API zkapex_status zkapex_publish(zkapex_session* session, const zkapex_provider* provider,
                                        const zkapex_request* request);

/* A proof that a client handed in. Accepted, the ledger moves on. A request that was not published is from now on. */
ZKAPEX_API zkapex_status zkapex_verify(zkapex_session* session, const zkapex_provider* provider,
                                       const zkapex_request* request, zkapex_buffer proof);

/* Many of them, settled by one multiplication. `verdicts`, if it is not NULL, gets ZKAPEX_OK or ZKAPEX_REJECTED for
 * each, and the report has a list `clients` in the same order. Returns ZKAPEX_REJECTED if any is rejected. */
ZKAPEX_API zkapex_status zkapex_verify_batch(zkapex_session* session, const zkapex_provider* provider,
                                             const zkapex_request* request, const zkapex_buffer* proofs, size_t count,
                                             zkapex_status* verdicts);

/* ---- receipts (anyone) ---- */

typedef struct zkapex_receipt_options {
  size_t size;
  const char* policy;       /* file that says which logs and witnesses are trusted */
  zkapex_buffer receipt;    /* a .tlog-proof, as a client keeps it */
  zkapex_buffer deployment; /* the receipt of the log's first entry; NULL: nobody looks who has signed a verdict */
  zkapex_buffer entry;      /* where the receipt does not have it; else empty */
} zkapex_receipt_options;

/* That an entry is in a log, offline, and what it says: `zkapex audit receipt`. ZKAPEX_REJECTED: the receipt proves
 * nothing, because it is damaged, or is none at all, or that of the deployment is; `detail` says why. What a logged
 * verdict says is in `result`, "PASSED" or "FAILED": a receipt of a rejection is as good as one of an acceptance.
 * `provider_checked` is true where the verdict is signed by the provider that `deployment` names. */
ZKAPEX_API zkapex_status zkapex_receipt_check(zkapex_session* session, const zkapex_receipt_options* options);

#ifdef __cplusplus
}
#endif

#endif

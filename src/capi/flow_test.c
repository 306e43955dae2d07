/* A provider and a client by the C interface alone, in the folder that is given: from a model to a settled window, and
 * what the interface says to arguments that make no sense. c_library_test.py compiles and runs it, and compares what it
 * leaves with what the command makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkapex.h>

enum { ROWS = 20, COLUMNS = 12, WEIGHTS = ROWS * COLUMNS, BLOCK = 8, SAMPLES = 32, OTHERS = 3 };

static zkapex_session* session;
static char folder[512];

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, zkapex_error_text(session)); \
      exit(1);                                                                                        \
    }                                                                                                 \
  } while (0)
#define DONE(call) CHECK((call) == ZKAPEX_OK)

/* A path below the folder, in one of a few places that are used in turn. */
static const char* at(const char* name) {
  static char places[16][768];
  static int next;
  char* place = places[next++ % 16];
  snprintf(place, sizeof places[0], "%s/%s", folder, name);
  return place;
}

static double number(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return (double)(*state >> 8) / (1 << 24) - 0.5;
}

/* A safetensors file with a covered tensor and, where `others` is given, one more. */
static void write_tensors(const char* name, const char* shape, const float* weights, size_t count,
                          const float* others) {
  char header[512];
  int length = snprintf(header, sizeof header,
                        "{\"layers.0.mlp.fc1.weight\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[0,%zu]}", shape,
                        4 * count);
  if (others != NULL)
    length += snprintf(header + length, sizeof header - (size_t)length,
                       ",\"norm.weight\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[%zu,%zu]}", OTHERS,
                       4 * count, 4 * (count + OTHERS));
  length += snprintf(header + length, sizeof header - (size_t)length, "}");
  const uint64_t size = (uint64_t)length;
  FILE* file = fopen(at(name), "wb");
  CHECK(file != NULL);
  for (int k = 0; k < 8; ++k) fputc((int)(size >> (8 * k) & 255), file);
  fwrite(header, 1, (size_t)length, file);
  fwrite(weights, 4, count, file);
  if (others != NULL) fwrite(others, 4, OTHERS, file);
  CHECK(fclose(file) == 0);
}

static void* read_whole(const char* path, zkapex_buffer* out) {
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  void* data = malloc((size_t)size);
  CHECK(data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  out->data = data;
  out->length = (size_t)size;
  return data;
}

static int refused(zkapex_status status, const char* part) {
  if (status == ZKAPEX_ERROR && strstr(zkapex_error_text(session), part) != NULL) return 1;
  fprintf(stderr, "status %d, '%s' is not about '%s'\n", (int)status, zkapex_error_text(session), part);
  return 0;
}

static int says(const char* part) { return strstr(zkapex_report(session), part) != NULL; }

struct heard {
  int calls;
  int cancel_at; /* 0: never */
};
static int hear(void* user, const char* stage, uint64_t done, uint64_t total) {
  struct heard* heard = user;
  CHECK(stage != NULL && done <= total);
  return ++heard->calls == heard->cancel_at;
}

static void make_models(float* gradients) {
  float weights[WEIGHTS], others[OTHERS];
  unsigned state = 1;
  for (int k = 0; k < OTHERS; ++k) others[k] = 1;
  for (int k = 0; k < WEIGHTS; ++k) weights[k] = (float)number(&state);
  write_tensors("theta0.safetensors", "[20,12]", weights, WEIGHTS, others);
  for (int k = 0; k < WEIGHTS; ++k) weights[k] += 0.05f * (float)number(&state);
  write_tensors("theta.safetensors", "[20,12]", weights, WEIGHTS, others);
  for (int k = 0; k < WEIGHTS; ++k) weights[k] = (float)number(&state);
  write_tensors("scores.safetensors", "[20,12]", weights, WEIGHTS, NULL);
  for (int k = 0; k < SAMPLES * WEIGHTS; ++k) gradients[k] = (float)number(&state);
  write_tensors("gradients.safetensors", "[32,240]", gradients, SAMPLES * WEIGHTS, NULL);
}

static zkapex_deployment* deploy(void) {
  static const char* const covers[] = {"layers.{i}.mlp.fc1.weight"};
  zkapex_deploy_options options = {.size = sizeof options,
                                   .model = at("theta0.safetensors"),
                                   .output = at("deployment.zka"),
                                   .covers = covers,
                                   .cover_count = 1,
                                   .block = BLOCK};
  DONE(zkapex_deploy(session, &options));
  CHECK(says("\"covered_weights\":240") && says("layers.0.mlp.fc1.weight"));
  CHECK(refused(zkapex_deploy(session, &options), "exists"));
  options.force = 1;
  DONE(zkapex_deploy(session, &options));
  options.size = 8;
  CHECK(refused(zkapex_deploy(session, &options), "size"));
  options.size = sizeof options;
  options.covers = NULL;
  CHECK(refused(zkapex_deploy(session, &options), "NULL"));
  CHECK(refused(zkapex_deploy(session, NULL), "NULL"));
  zkapex_deployment* deployment = NULL;
  CHECK(refused(zkapex_deployment_open(session, at("theta0.safetensors"), &deployment), "deployment"));
  CHECK(deployment == NULL);
  CHECK(refused(zkapex_deployment_open(session, at("deployment.zka"), NULL), "NULL"));
  DONE(zkapex_deployment_open(session, at("deployment.zka"), &deployment));
  return deployment;
}

/* Half of the blocks from gradients as they are, half as Fisher blocks made here; and stores from either alone. */
static void make_curvature(const zkapex_deployment* deployment, const float* gradients) {
  zkapex_curvature_options options = {
      .size = sizeof options, .deployment = deployment, .output = at("store.zka"), .run = "flow"};
  zkapex_curvature* store = NULL;
  DONE(zkapex_curvature_open(session, &options, &store));
  const zkapex_buffer first = {gradients, 4 * ((SAMPLES - 1) * WEIGHTS + 15 * BLOCK)};
  CHECK(refused(zkapex_curvature_gradients(session, store, ZKAPEX_F32, first, SAMPLES, 15 * BLOCK - 1, WEIGHTS),
                "whole blocks"));
  CHECK(refused(zkapex_curvature_gradients(session, store, ZKAPEX_F32, first, SAMPLES, 15 * BLOCK, 7), "stride"));
  CHECK(refused(zkapex_curvature_gradients(session, store, ZKAPEX_F32, first, 0, 15 * BLOCK, WEIGHTS), "samples"));
  CHECK(refused(zkapex_curvature_gradients(session, store, ZKAPEX_F64, first, SAMPLES, 15 * BLOCK, WEIGHTS), "bytes"));
  CHECK(
      refused(zkapex_curvature_gradients(session, store, (zkapex_type)7, first, SAMPLES, 15 * BLOCK, WEIGHTS), "type"));
  DONE(zkapex_curvature_gradients(session, store, ZKAPEX_F32, first, SAMPLES, 15 * BLOCK, WEIGHTS));
  CHECK(refused(zkapex_curvature_finish(session, store), "15"));
  zkapex_free(store); /* and a later run goes on */
  DONE(zkapex_curvature_open(session, &options, &store));
  CHECK(says("\"written\":15"));
  const zkapex_buffer second = {gradients + 15 * BLOCK, 4 * ((SAMPLES - 1) * WEIGHTS + 15 * BLOCK)};
  DONE(zkapex_curvature_gradients(session, store, ZKAPEX_F32, second, SAMPLES, 15 * BLOCK, WEIGHTS));
  DONE(zkapex_describe(session, store));
  CHECK(says("\"written\":30") && says("\"blocks\":30"));
  CHECK(
      refused(zkapex_curvature_gradients(session, store, ZKAPEX_F32, second, SAMPLES, 15 * BLOCK, WEIGHTS), "already"));
  DONE(zkapex_curvature_finish(session, store));
  CHECK(says("\"rank_deficient\":0"));
  CHECK(refused(zkapex_curvature_finish(session, store), "finished"));
  zkapex_free(store);

  options.output = at("from-blocks.zka");
  options.run = NULL;
  DONE(zkapex_curvature_open(session, &options, &store));
  for (int b = 0; b < WEIGHTS / BLOCK; ++b) {
    double fisher[BLOCK][BLOCK] = {{0}};
    for (int s = 0; s < SAMPLES; ++s)
      for (int i = 0; i < BLOCK; ++i)
        for (int j = 0; j < BLOCK; ++j)
          fisher[i][j] +=
              (double)gradients[s * WEIGHTS + b * BLOCK + i] * gradients[s * WEIGHTS + b * BLOCK + j] / SAMPLES;
    const zkapex_buffer data = {fisher, sizeof fisher};
    CHECK(refused(zkapex_curvature_blocks(session, store, ZKAPEX_F64, data, 2), b == 29 ? "missing" : "bytes"));
    DONE(zkapex_curvature_blocks(session, store, ZKAPEX_F64, data, 1));
  }
  DONE(zkapex_curvature_finish(session, store));
  zkapex_free(store);
}

static zkapex_request* make_request(const zkapex_deployment* deployment) {
  zkapex_request_options options = {.size = sizeof options,
                                    .deployment = at("deployment.zka"),
                                    .output = at("psi.zka"),
                                    .window = "w1",
                                    .scores = at("scores.safetensors"),
                                    .ratio = "0.1",
                                    .nonce = "00000000000000000000000000000000000000000000000000000000000000aa"};
  DONE(zkapex_request_make(session, &options));
  CHECK(says("\"masked\":24"));
  zkapex_request* request = NULL;
  CHECK(refused(zkapex_request_open(session, at("psi.zka"), NULL, &request), "NULL"));
  CHECK(refused(zkapex_request_open(session, at("psi.zka"), (const zkapex_deployment*)session, &request),
                "a deployment is needed, and the handle is a session"));
  DONE(zkapex_request_open(session, at("psi.zka"), deployment, &request));
  DONE(zkapex_describe(session, request));
  CHECK(says("\"window\":\"w1\"") && says("\"operator\":\"group-obs\""));
  return request;
}

static void enroll(const zkapex_provider* provider) {
  zkapex_register_options options = {.size = sizeof options,
                                     .deployment = at("deployment.zka"),
                                     .model = at("theta.safetensors"),
                                     .curvature = at("store.zka"),
                                     .base = at("theta0.safetensors"),
                                     .client = "alice",
                                     .output = at("alice")};
  DONE(zkapex_register(session, &options));
  CHECK(refused(zkapex_register(session, &options), "exists"));
  options.client = NULL;
  CHECK(refused(zkapex_register(session, &options), "identifier is missing"));
  zkapex_buffer file;
  void* data = read_whole(at("alice/registration.zka"), &file);
  const zkapex_buffer cut = {file.data, file.length / 2}, none = {NULL, 5}, empty = {NULL, 0};
  CHECK(zkapex_admit(session, provider, cut) == ZKAPEX_REJECTED && says("\"reason\":\"file\""));
  CHECK(zkapex_admit(session, provider, empty) == ZKAPEX_REJECTED);
  CHECK(refused(zkapex_admit(session, provider, none), "NULL"));
  CHECK(refused(zkapex_admit(session, NULL, file), "NULL"));
  CHECK(zkapex_admit_update(session, provider, file) == ZKAPEX_REJECTED);
  DONE(zkapex_admit(session, provider, file));
  CHECK(says("\"verdict\":\"accepted\"") && says("not_proved"));
  free(data);
}

static void unlearn(const zkapex_provider* provider, const zkapex_request* request) {
  DONE(zkapex_publish(session, provider, request));
  CHECK(says("\"window\":\"w1\"") && says("\"published_before\":false"));
  zkapex_unlearn_options options = {.size = sizeof options, .client = at("alice"), .request = at("psi.zka")};
  CHECK(refused(zkapex_unlearn(session, &options), "--proof"));
  options.dry_run = 1;
  DONE(zkapex_unlearn(session, &options));
  CHECK(says("\"rules_hold\":true"));
  options.dry_run = 0;
  options.model_output = at("unlearned.safetensors");
  options.proof_output = at("proof.zka");
  DONE(zkapex_unlearn(session, &options));
  CHECK(says("\"window\":\"w1\""));
  zkapex_buffer proof;
  unsigned char* data = read_whole(at("proof.zka"), &proof);
  const zkapex_buffer cut = {proof.data, proof.length - 1}, both[] = {cut, proof},
                      longer = {proof.data, (size_t)1 << 40};
  zkapex_status verdicts[2] = {ZKAPEX_ERROR, ZKAPEX_ERROR};
  CHECK(zkapex_verify(session, provider, request, cut) == ZKAPEX_REJECTED && says("\"reason\":\"file\""));
  CHECK(zkapex_verify(session, provider, request, longer) == ZKAPEX_REJECTED && says("\"reason\":\"length\""));
  CHECK(refused(zkapex_verify(session, provider, (const zkapex_request*)provider->deployment, proof),
                "a request is needed, and the handle is a deployment"));
  CHECK(refused(zkapex_verify_batch(session, provider, request, NULL, 2, NULL), "no proofs"));
  CHECK(zkapex_verify_batch(session, provider, request, both, 2, verdicts) == ZKAPEX_REJECTED);
  CHECK(verdicts[0] == ZKAPEX_REJECTED && verdicts[1] == ZKAPEX_OK);
  CHECK(says("\"accepted\":1") && says("\"rejected\":1"));
  CHECK(zkapex_verify(session, provider, request, proof) == ZKAPEX_REJECTED && says("\"reason\":\"window\""));
  free(data);
}

static void settle(void) {
  zkapex_settle_options options = {.size = sizeof options, .client = at("alice")};
  CHECK(refused(zkapex_settle(session, &options), "--accepted or --rejected"));
  options.accepted = 1;
  DONE(zkapex_settle(session, &options));
  CHECK(says("\"verdict\":\"accepted\"") && says("\"window\":\"w1\""));
  zkapex_update_options update = {.size = sizeof update,
                                  .client = at("alice"),
                                  .model = at("unlearned.safetensors"),
                                  .base = at("theta0.safetensors"),
                                  .output = at("update.zka")};
  DONE(zkapex_update(session, &update));
}

static void settle_update(const zkapex_provider* provider) {
  zkapex_buffer file;
  void* data = read_whole(at("update.zka"), &file);
  DONE(zkapex_admit_update(session, provider, file));
  free(data);
  zkapex_settle_options options = {.size = sizeof options, .client = at("alice"), .accepted = 1, .update = 1};
  DONE(zkapex_settle(session, &options));
}

/* Of the log that the test has written there. */
static void check_receipts(void) {
  zkapex_receipt_options options = {.size = sizeof options, .policy = at("policy")};
  CHECK(refused(zkapex_receipt_check(session, &options), "the receipt is NULL"));
  options.receipt = (zkapex_buffer){"hello", 5};
  CHECK(zkapex_receipt_check(session, &options) == ZKAPEX_REJECTED && says("\"detail\":\"this is no receipt"));
  void* verdict = read_whole(at("verdict.tlog-proof"), &options.receipt);
  DONE(zkapex_receipt_check(session, &options));
  CHECK(says("\"statement\":\"verdict\"") && says("\"result\":\"PASSED\"") && says("\"provider_checked\":false"));
  void* deployment = read_whole(at("deployment.tlog-proof"), &options.deployment);
  DONE(zkapex_receipt_check(session, &options));
  CHECK(says("\"provider_checked\":true"));
  options.entry = (zkapex_buffer){"x", 1};
  CHECK(zkapex_receipt_check(session, &options) == ZKAPEX_REJECTED && says("\"verdict\":\"rejected\""));
  options.entry = (zkapex_buffer){NULL, 1};
  CHECK(refused(zkapex_receipt_check(session, &options), "the entry is NULL"));
  options.entry = (zkapex_buffer){"x", (size_t)1 << 40};
  CHECK(refused(zkapex_receipt_check(session, &options), "at most 65535 bytes"));
  options.entry.length = 0;
  void* forged = read_whole(at("forged.tlog-proof"), &options.receipt);
  CHECK(zkapex_receipt_check(session, &options) == ZKAPEX_REJECTED && says("not signed by the provider"));
  options.policy = NULL;
  CHECK(refused(zkapex_receipt_check(session, &options), "the policy is missing"));
  free(verdict);
  free(deployment);
  free(forged);
}

/* At each call of the progress function in turn: nothing is left of a registration that was cancelled. */
static void cancel(void) {
  struct heard heard = {0, 0};
  zkapex_session_options options = {
      .size = sizeof options, .threads = 1, .cache = "", .progress = hear, .user = &heard};
  zkapex_session* other = NULL;
  DONE(zkapex_session_new(&options, &other));
  const zkapex_register_options request = {.size = sizeof request,
                                           .deployment = at("deployment.zka"),
                                           .model = at("theta.safetensors"),
                                           .curvature = at("store.zka"),
                                           .base = at("theta0.safetensors"),
                                           .client = "bob",
                                           .output = at("bob")};
  int cancelled = 0;
  for (heard.cancel_at = 1;; ++heard.cancel_at) {
    heard.calls = 0;
    const zkapex_status status = zkapex_register(other, &request);
    if (status == ZKAPEX_OK) break;
    CHECK(status == ZKAPEX_CANCELLED && strcmp(zkapex_error_text(other), "cancelled") == 0);
    CHECK(fopen(at("bob/secret.zka"), "rb") == NULL);
    ++cancelled;
  }
  CHECK(cancelled > 1 && heard.calls == cancelled);
  zkapex_free(other);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  snprintf(folder, sizeof folder, "%s", argv[1]);
  CHECK(strcmp(zkapex_version(), "0.1.0") == 0);
  CHECK(zkapex_session_new(NULL, NULL) == ZKAPEX_ERROR && strstr(zkapex_error_text(NULL), "NULL") != NULL);
  const zkapex_session_options short_options = {.size = 3};
  CHECK(zkapex_session_new(&short_options, &session) == ZKAPEX_ERROR && session == NULL);
  CHECK(strstr(zkapex_error_text(NULL), "size of 3 bytes") != NULL);
  CHECK(zkapex_describe(NULL, NULL) == ZKAPEX_ERROR && strcmp(zkapex_report(NULL), "{}") == 0);
  DONE(zkapex_session_new(NULL, &session));
  CHECK(refused(zkapex_describe(session, NULL), "NULL"));
  zkapex_free(NULL);

  static float gradients[SAMPLES * WEIGHTS];
  make_models(gradients);
  zkapex_deployment* deployment = deploy();
  CHECK(zkapex_describe((zkapex_session*)(void*)deployment, deployment) == ZKAPEX_ERROR);
  CHECK(strstr(zkapex_error_text(NULL), "a session is needed, and the handle is a deployment") != NULL);
  make_curvature(deployment, gradients);
  zkapex_request* request = make_request(deployment);
  const zkapex_provider provider = {
      .size = sizeof provider, .ledger = at("ledger"), .deployment = deployment, .base = at("theta0.safetensors")};
  char ledger[768], base[768]; /* at() has few places */
  zkapex_provider kept = provider;
  kept.ledger = strcpy(ledger, provider.ledger);
  kept.base = strcpy(base, provider.base);
  enroll(&kept);
  unlearn(&kept, request);
  settle();
  settle_update(&kept);
  check_receipts();
  cancel();
  zkapex_free(request);
  zkapex_free(deployment);
  zkapex_free(session);
  puts("all steps done");
  return 0;
}

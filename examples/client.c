/* A client in C: it registers, answers a request with a proof, and settles the verdict.
 *
 *   cc client.c $(pkg-config --cflags --libs zkapex) -o client
 *   ./client register FOLDER DEPLOYMENT MODEL STORE BASE NAME
 *   ./client unlearn FOLDER REQUEST MODEL_OUT PROOF_OUT
 *   ./client settle FOLDER accepted|rejected
 *
 * The curvature store is made by `zkapex fisher`, or by zkapex_curvature_gradients() from gradients of one's own. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <zkapex.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
  (void)number;
  interrupted = 1;
}

/* Shows how far the work is; Ctrl-C cancels it, and nothing is left half done. */
static int show(void* user, const char* stage, uint64_t done, uint64_t total) {
  (void)user;
  fprintf(stderr, "\r%s: %llu of %llu  ", stage, (unsigned long long)done, (unsigned long long)total);
  if (done == total) fputc('\n', stderr);
  return interrupted;
}

static zkapex_status run(zkapex_session* session, int count, char** words) {
  if (count == 7 && strcmp(words[0], "register") == 0) {
    const zkapex_register_options options = {.size = sizeof options,
                                             .output = words[1],
                                             .deployment = words[2],
                                             .model = words[3],
                                             .curvature = words[4],
                                             .base = words[5],
                                             .client = words[6]};
    return zkapex_register(session, &options);
  }
  if (count == 5 && strcmp(words[0], "unlearn") == 0) {
    const zkapex_unlearn_options options = {.size = sizeof options,
                                            .client = words[1],
                                            .request = words[2],
                                            .model_output = words[3],
                                            .proof_output = words[4]};
    return zkapex_unlearn(session, &options);
  }
  if (count == 3 && strcmp(words[0], "settle") == 0) {
    const int accepted = strcmp(words[2], "accepted") == 0;
    const zkapex_settle_options options = {
        .size = sizeof options, .client = words[1], .accepted = accepted, .rejected = !accepted};
    return zkapex_settle(session, &options);
  }
  fprintf(stderr, "usage: client register|unlearn|settle FOLDER ...\n");
  return ZKAPEX_ERROR;
}

int main(int argc, char** argv) {
  const zkapex_session_options options = {.size = sizeof options, .progress = show};
  zkapex_session* session = NULL;
  if (zkapex_session_new(&options, &session) != ZKAPEX_OK) {
    fprintf(stderr, "%s\n", zkapex_error_text(NULL));
    return 2;
  }
  signal(SIGINT, interrupt);
  const zkapex_status status = run(session, argc - 1, argv + 1);
  if (status == ZKAPEX_OK)
    printf("%s\n", zkapex_report(session));
  else if (*zkapex_error_text(session) != '\0')
    fprintf(stderr, "\nclient: %s\n", zkapex_error_text(session));
  zkapex_free(session);
  return (int)status;
}

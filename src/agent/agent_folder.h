// What an agent keeps is a folder, for its owner only:
//   agent.json            what it was told by `agent init`
//   key.pem               the client's signing key
//   next-key.pem          the one that is to replace it: see agent/enrolment.h
//   policy                which log, and which witnesses of it, it believes
//   provider.json         the provider's logged statement of the deployment: its keys
//   deployment.tlog-proof that it is the first entry of the log: for audits of other receipts
//   checkpoint            the last one of the log that was checked, against the one before it
//   split-view/           two checkpoints of the log that contradict each other: evidence, and the end of all work
//   deployment.zka        the provider's, as that statement names it
//   enrolled.json         what the provider signed of this client and its key
//   model.safetensors     the model after the last window that was accepted
//   client/               the client's model, as parties/client_folder.h has it
//   registration/         what was said about it: the files of agent/delivery.h
//   windows/STATE/NAME/   one folder for each window, in the folder of its state: see agent/journal.h
//   update/               an update that was ordered, and how far it is: see agent/update_order.h
//   updates/N/            those that came to an end
#pragma once

#include "base/files.h"

namespace zkapex {

struct AgentFolder {
  Path folder;
  [[nodiscard]] Path config() const { return folder / "agent.json"; }
  [[nodiscard]] Path key() const { return folder / "key.pem"; }
  [[nodiscard]] Path next_key() const { return folder / "next-key.pem"; }
  [[nodiscard]] Path policy() const { return folder / "policy"; }
  [[nodiscard]] Path provider() const { return folder / "provider.json"; }
  [[nodiscard]] Path provider_receipt() const { return folder / "deployment.tlog-proof"; }
  [[nodiscard]] Path deployment() const { return folder / "deployment.zka"; }
  [[nodiscard]] Path enrolment() const { return folder / "enrolled.json"; }
  [[nodiscard]] Path checkpoint() const { return folder / "checkpoint"; }
  [[nodiscard]] Path split_view() const { return folder / "split-view"; }
  [[nodiscard]] Path model() const { return folder / "model.safetensors"; }
  [[nodiscard]] Path client() const { return folder / "client"; }
  [[nodiscard]] Path registration() const { return folder / "registration"; }
  [[nodiscard]] Path windows() const { return folder / "windows"; }
  [[nodiscard]] Path update() const { return folder / "update"; }
  [[nodiscard]] Path updates() const { return folder / "updates"; }
};

}  // namespace zkapex

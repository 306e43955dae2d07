// The learning commands' names with a line on each, for the program that has them and the one that hands over to it.
#pragma once

#include <array>

#include "cli/command_name.h"

namespace zkapex::cli {

inline constexpr CommandName kSplit{"split", "Choose which samples are trained on, forgotten, personal, tested"};
inline constexpr CommandName kTokenize{"tokenize", "Print the token ids of the text on standard input, as JSON"};
inline constexpr CommandName kTrainTokenizer{"train-tokenizer", "Learn a byte-level BPE vocabulary from text files"};
inline constexpr CommandName kTrain{"train", "Train a model on a set of a split"};
inline constexpr CommandName kPersonalize{"personalize", "Adapt a model to personal data"};
inline constexpr CommandName kSaliency{"saliency",
                                       "Score the weights that a forget set leans on, or cut a mask from the scores"};
inline constexpr CommandName kRehearse{"rehearse", "Make a request that forgets: learn its guide on simulated clients"};
inline constexpr CommandName kFisher{"fisher", "Write the curvature store of a personal model"};
inline constexpr CommandName kBaseline{"baseline", "Unlearn by another method, for comparison"};
inline constexpr CommandName kEvaluate{
    "evaluate", "Measure a model: accuracy, perplexity, membership, distance to exact unlearning"};
inline constexpr CommandName kProbe{
    "probe", "Write logits, gradients and Fisher of given tensors, to compare with another framework"};

inline constexpr CommandName kExperiment{"experiment", "Reproduce a table or figure of the paper, in shape"};
inline constexpr CommandName kDemo{"demo", "The whole story on real images, with a page to look at"};

inline constexpr std::array kLearningCommands{
    kSplit,  kTokenize, kTrainTokenizer, kTrain, kPersonalize, kSaliency, kRehearse,
    kFisher, kBaseline, kEvaluate,       kProbe, kExperiment,  kDemo};

inline constexpr CommandName kBenchLearning{"learning", "Time training and Fisher blocks against plain libtorch"};
inline constexpr std::array kLearningBenches{kBenchLearning};  // of bench

}  // namespace zkapex::cli

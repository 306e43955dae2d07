// Images from IDX files, or from a directory with one folder per class.
#pragma once

#include "learning/dataset.h"

namespace zkapex {

// DIR/PART-images-idx3-ubyte[.gz] and DIR/PART-labels-idx1-ubyte[.gz], in memory.
[[nodiscard]] Result<std::unique_ptr<Dataset>> open_idx_images(const DataSource& source, const Preprocessing& how);

// DIR/CLASS/*.png, *.jpg, *.jpeg: classes numbered in the order of their names, files in the order of theirs. Files are
// decoded when a batch asks for them.
[[nodiscard]] Result<std::unique_ptr<Dataset>> open_image_folder(const DataSource& source, const Preprocessing& how);

}  // namespace zkapex

# The learning room. What of it reads files, cuts text and deals samples needs no libtorch: a library of its own, which
# sanitizers and fuzzers can run.
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
set(without_torch bpe_trainer data_source documents idx_file image image_decoder membership model_config pretokenizer
  splits tokenizer tokenizer_files unicode)
list(JOIN without_torch "|" without_torch)
set(without_torch "/(${without_torch})(_test|_fuzzer)?\\.cpp$")
zkapex_room(learning_files FOLDER learning ONLY ${without_torch} ROOMS base
  LIBRARIES PNG::PNG JPEG::JPEG ZLIB::ZLIB nlohmann_json::nlohmann_json)

# The rest: on libtorch, Debian's 1.13 or a newer one (CMAKE_PREFIX_PATH says where). at::parallel_for is parallel only
# in files compiled with OpenMP. With OpenBLAS, Fisher blocks are added up by symmetric updates, half the work of
# libtorch's products; a libtorch that brings a BLAS of its own does without.
if(ZKAPEX_LEARNING)
  find_package(Torch REQUIRED)
  find_package(OpenMP REQUIRED)
  find_library(ZKAPEX_BLAS NAMES openblas)
  find_path(ZKAPEX_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp openblas)
  # stdc++ first: the libtorch of Python's package has an old, partial std::filesystem of its own in it, which would
  # otherwise be found before that of the standard library.
  zkapex_room(learning EXCEPT ${without_torch} ROOMS learning_files parties
    LIBRARIES stdc++ ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
  # Newer libtorchs bring the headers of another fmt: those of the library that is linked come first.
  get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
  file(CREATE_LINK ${fmt_include}/fmt ${CMAKE_BINARY_DIR}/include/fmt SYMBOLIC)
  target_include_directories(zkapex_learning SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/include ${TORCH_INCLUDE_DIRS})
  if(ZKAPEX_BLAS AND ZKAPEX_CBLAS_INCLUDE)
    target_include_directories(zkapex_learning SYSTEM PUBLIC ${ZKAPEX_CBLAS_INCLUDE})
    target_link_libraries(zkapex_learning PUBLIC ${ZKAPEX_BLAS})
    target_compile_definitions(zkapex_learning PUBLIC ZKAPEX_CBLAS)
  else()
    message(STATUS "No OpenBLAS: Fisher blocks are added up by libtorch")
  endif()
  # libtorch's headers take most of the time to compile a file: once for all.
  target_precompile_headers(zkapex_learning PRIVATE ${CMAKE_SOURCE_DIR}/src/learning/torch.h)
  if(TARGET learning_test)
    target_precompile_headers(learning_test REUSE_FROM zkapex_learning)
  endif()
endif()

# Experiments: what runs cells and makes tables of them needs no libtorch either.
set(experiment_frame "/(cells|chart|config|folders|machine|report|runner)(_test)?\\.cpp$")
zkapex_room(experiment_frame FOLDER experiments ONLY ${experiment_frame} ROOMS learning_files parties)
if(ZKAPEX_LEARNING)
  zkapex_room(experiments EXCEPT ${experiment_frame} ROOMS experiment_frame learning)
  target_precompile_headers(zkapex_experiments REUSE_FROM zkapex_learning)
  if(TARGET experiments_test)
    target_precompile_headers(experiments_test REUSE_FROM zkapex_learning)
  endif()
endif()

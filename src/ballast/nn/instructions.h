#pragma once
// Which vector instructions the gradients use. Everything runs on the best that the machine has;
// this is for measuring what a lesser machine would do.

namespace ballast::nn {

// From now on, in the whole process, no code of ours that chooses its instructions through Highway
// (this room and the kernels of the rules) uses any that are newer than AVX2. Changes nothing where
// there are none.
void limit_to_avx2();

}  // namespace ballast::nn

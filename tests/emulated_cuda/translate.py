#!/usr/bin/env python3
"""Makes plain C++ of a CUDA source, for the emulated device: what no macro of device_code.h says.

    translate.py IN.cu OUT.cc

The lines keep their numbers, so that messages of compilers and sanitizers name the source itself.
"""

import pathlib
import re
import sys

# Kernel, perhaps with template arguments, and the shape it is started in.
LAUNCH = re.compile(r"([A-Za-z_]\w*(?:<[^;{}]*?>)?)(\s*)<<<(.*?)>>>\(", re.DOTALL)
SHARED = re.compile(r"extern __shared__ unsigned char (\w+)\[\];")
# The matrix instruction of multiply_add(), whose lanes hand each other their values.
PRODUCTS = re.compile(r'asm\("mma\.sync\.aligned\.m8n8k4\..*?\);', re.DOTALL)
LEFT = re.compile(r"<<<|extern __shared__")


def lines_of(text: str) -> str:
    return "\n" * text.count("\n")


def translate(source: str) -> str:
    text = LAUNCH.sub(
        lambda m: f"::emulated_cuda::start({m[1]},{m[2] or ' '}{m[3]})(", source
    )
    text = SHARED.sub(
        r"auto* const \1 = static_cast<unsigned char*>(::emulated_cuda::shared_memory());", text
    )
    text = PRODUCTS.sub(
        lambda m: "::emulated_cuda::multiply_add(sums, a, b);" + lines_of(m[0]), text
    )
    left = LEFT.search(text)
    if left:
        line = text.count("\n", 0, left.start()) + 1
        raise ValueError(f"line {line}: a '{left[0]}' of a shape that is not known here")
    return text


def main() -> int:
    source, target = map(pathlib.Path, sys.argv[1:3])
    try:
        text = translate(source.read_text(encoding="utf-8"))
    except ValueError as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    head = f'#include "tests/emulated_cuda/device_code.h"\n#line 1 "{source}"\n'
    target.write_text(head + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Translates what g++ cannot read in a preprocessed CUDA source to calls of cuda.h: PTX, shared variables, kernel attributes."""

import re
from collections.abc import Callable, Iterator

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_ASM = re.compile(r"\basm(?:\s+volatile)?\s*\(")
_SHARED = re.compile(r"(extern\s+)?__shared__\s+((?:__align__\s*\(\s*\d+\s*\)\s*)?)([^;]*?)\b(\w+)\s*((?:\[[^;]*\])?)\s*;")
_KERNEL = re.compile(r'extern\s+"C"\s+__global__\b')
_ATTRIBUTE = re.compile(r"\s*(?:void\b|(__launch_bounds__|__cluster_dims__)\s*(?=\())")
_NAME = re.compile(r"\s*(\w+)\s*\(")
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{};]')
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_HOLDER = re.compile(r"\bstruct SharedVariable(\d+)\b")
_DEFINED = re.compile(
    r"\b(?:struct|enum|union)\s+(?:alignas\([^{]*\)\s*)?(\w+)|\b(?!alignas|decltype|sizeof|static_assert|__)(\w+)\s*\("
)
_TYPES = {
    "s32": "int",
    "u32": "unsigned",
    "b32": "unsigned",
    "s64": "long long",
    "u64": "unsigned long long",
    "b64": "unsigned long long",
}


def translate(text: str) -> str:
    """Translate a preprocessed CUDA source to C++ that uses `cuda.h`.

    Raises ValueError for an unknown PTX instruction.
    """
    return _kernels(_shared(_asm(text)))


def _closing(text: str, opening: int) -> int:
    """Index of the parenthesis that closes the one at `opening`."""
    depth, place = 0, opening
    while True:
        if text[place] == '"':
            place = _STRING.match(text, place).end()
            continue
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
        place += 1


def _split(text: str, separator: str) -> Iterator[str]:
    """Split at separators outside of parentheses, brackets and strings."""
    depth, begin, place = 0, 0, 0
    while place < len(text):
        if text[place] == '"':
            place = _STRING.match(text, place).end()
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[place], 0)
        if text[place] == separator and depth == 0:
            yield text[begin:place]
            begin = place + 1
        place += 1
    yield text[begin:]


def _asm(text: str) -> str:
    parts, end = [], 0
    for found in _ASM.finditer(text):
        closing = _closing(text, found.end() - 1)
        parts += [text[end : found.start()], _statements(text[found.end() : closing])]
        end = text.index(";", closing) + 1
    return "".join(parts) + text[end:]


def _statements(asm: str) -> str:
    """The C++ of an asm statement, without line breaks."""
    template, *sections = _split(asm, ":")
    operands = [
        re.fullmatch(r'\s*"[^"]*"\s*\((.*)\)\s*', operand, re.DOTALL)[1]
        for section in sections[:2]
        for operand in _split(section, ",")
        if operand.strip()
    ]
    ptx = "".join(string[1:-1] for string in _STRING.findall(template)).replace("\\n", " ").replace("\\t", " ").strip()
    if ptx.startswith("{"):
        ptx = ptx[1:-1]

    def operand(name: str) -> str:
        return f"({operands[int(name[1:])]})" if re.fullmatch(r"%\d+", name) else name

    instructions = [instruction.strip() for instruction in ptx.split(";") if instruction.strip()]
    code = "{ " + " ".join(_instruction(instruction, operand) for instruction in instructions) + " }"
    return " ".join(code.split())


def _instruction(ptx: str, operand: Callable[[str], str]) -> str:
    if predicated := re.fullmatch(r"@(\w+)\s+(.*)", ptx):
        return f"if ({predicated[1]}) {{ {_instruction(predicated[2], operand)} }}"
    name, _, rest = ptx.partition(" ")
    words = name.split(".")
    if name in {".reg", "barrier.cluster.arrive.release.aligned"}:
        return ""
    if name == "barrier.cluster.wait.acquire.aligned":
        return "emulated::cluster_barrier();"
    if words[0] == "prefetch":
        return ""
    to, *of = (part.strip() for part in re.split(r",(?![^{]*\})", rest))
    if name == "setp.ne.u32":
        return f"const bool {to} = {operand(of[0])} != {of[1]};"
    if words[0] == "mov":
        return f"{operand(to)} = {'emulated::cluster_rank()' if of[0] == '%%cluster_ctarank' else of[0]};"
    if words[0] == "mapa":
        return f"{operand(to)} = emulated::map_to_block({operand(of[0])}, {operand(of[1])});"
    if words[0] not in {"ld", "st", "atom"} or words[-1] not in _TYPES:
        raise ValueError(f"unknown PTX instruction: {ptx}")
    of_type = _TYPES[words[-1]]
    if words[0] == "st":
        places = [_behind(operand(to[1:-1]), of_type, number) for number in range(4)]
        stores = zip(places, _vector(of[0]), strict=False)
        return " ".join(f"emulated::store<{of_type}>({place}, ({of_type}){operand(value)});" for place, value in stores)
    if words[0] == "ld":
        places = [_behind(operand(of[0][1:-1]), of_type, number) for number in range(4)]
        loads = zip(_vector(to), places, strict=False)
        return " ".join(f"{operand(target)} = emulated::load<{of_type}>({place});" for target, place in loads)
    address = operand(of[0][1:-1])
    return f"{operand(to)} = emulated::atomic_{words[-2]}<{of_type}>({address}, ({of_type}){operand(of[1])});"


def _vector(names: str) -> list[str]:
    return [name.strip() for name in names.strip("{}").split(",")]


def _behind(address: str, of_type: str, number: int) -> str:
    return f"(const {of_type}*){address} + {number}" if number else address


def _shared(text: str) -> str:
    """Turn each static variable into a member of its own type, to which `support.h` assigns an address in shared memory."""
    number = 0
    behind_the_file = {}  # dynamic shared memory that is declared outside of a function

    def variable(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        dynamic, align, of_type, name, dimensions = found.groups()
        if not dynamic:
            holder = f"SharedVariable{number}"
            return (
                f"struct {holder} {{ {align}{of_type}{name}{dimensions}; }};"
                f" auto& {name} = emulated::shared<{number}, {holder}>().{name};"
            )
        if text.count("{", 0, found.start()) == text.count("}", 0, found.start()):
            behind_the_file[name] = f"emulated::dynamic<{of_type}>()"
            return ""
        return f"{of_type}* const {name} = emulated::dynamic<{of_type}>();"

    text = _SHARED.sub(variable, text)
    for name, place in behind_the_file.items():
        text = re.sub(rf"\b{name}\b", place, text)
    return text


def _shared_by_name(text: str) -> Callable[[str], set[str]]:
    """A function from a kernel's name to the numbers of the static shared variables that it uses, directly or not."""
    declarations = list(_declarations(text))
    places = {}
    for place, declaration in enumerate(declarations):
        for name in _DEFINED.findall(declaration.partition("{")[0]):
            places.setdefault(name[0] or name[1], []).append(place)

    def shared_of(kernel: str) -> set[str]:
        seen, waiting, found = set(), {*places[kernel]}, set()
        while waiting:
            place = waiting.pop()
            seen.add(place)
            found.update(_HOLDER.findall(declarations[place]))
            for word in {*_WORD.findall(declarations[place])} & places.keys():
                waiting.update({*places[word]} - seen)
        return found

    return shared_of


def _declarations(text: str) -> Iterator[str]:
    """The declarations outside of functions and structures."""
    depth, begin = 0, 0
    for mark in _MARK.finditer(text):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0 and mark[0] in ";}":
            yield text[begin : mark.end()]
            begin = mark.end()


def _kernels(text: str) -> str:
    """Remove the attributes of kernels, and append a description of each kernel for launches."""
    parts, entries, end, shared_of = [], ["EMULATED_MODULE"], 0, _shared_by_name(text)
    for found in _KERNEL.finditer(text):
        attributes, place = {}, found.end()
        while attribute := _ATTRIBUTE.match(text, place):
            place = attribute.end()
            if attribute[1]:
                closing = _closing(text, place)
                attributes[attribute[1]] = text[place : closing + 1]
                place = closing + 1
        name = _NAME.match(text, place)[1]
        (cluster, *_) = _split(attributes.get("__cluster_dims__", "(0)")[1:-1], ",")
        bounds, shared = attributes.get("__launch_bounds__", "()"), " ".join(sorted(shared_of(name)))
        entries.append(f'EMULATED_KERNEL({name}, {bounds}, {cluster}, "{shared}")')
        parts += [text[end : found.start()], 'extern "C" void ']
        end = place
    return "\n".join(["".join(parts) + text[end:], *entries]) + "\n"

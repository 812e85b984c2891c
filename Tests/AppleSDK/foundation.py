"""Makes one interface of Foundation for Apple platforms from the three modules of the Linux toolchain.

On Linux the public declarations of Foundation are spread over FoundationEssentials, Foundation and FoundationNetworking;
`swift-synthesize-interface` prints them. On Apple platforms all of them are in Foundation. What differs there is in
Modules/Foundation.swiftinterface and takes the place of what the toolchain declares.
"""
import re

# What is left out with everything that names it: it needs more than this SDK has, and Lade does not use it.
OMITTED = re.compile(
    r"\b(?!FileAttribute)\w*Attribut(ed|e[A-Z])\w*|\b\w*(Predicate|Expression)\b|\bPredicate\w+|\bInflectionRule|\bMorphology\w*"
    r"|\bNSKeyed\w+|\bURL\.Template\b"
    r"|\bstatic func formatted\(|\bDispatchData\b|\bappropriateFor reference\b"
)
# An attribute alone in its line belongs to the declaration in the next one.
ATTRIBUTE = re.compile(r"@\w+(\(.*\))?$")
PROPERTY = re.compile(r"(@\S+ |\w+ |\w+\(\w+\) )*(var |subscript\b)")
NAMED = re.compile(r"(?:@\S+ |\w+ )*?(?:class|struct|enum|protocol|typealias|let|var) (?!func |var )`?(\w+)")


class Declaration:
    """A line, the attributes above it, and for a block the declarations in it."""

    def __init__(self, attributes, line):
        self.attributes, self.line, self.members = attributes, line, None

    def text(self, indent=""):
        yield from (indent + one for one in self.attributes)
        yield indent + self.line
        if self.members is not None:
            for member in self.members:
                yield from member.text(indent + "    ")
            yield indent + "}"


def parsed(text):
    """The declarations of a printed interface, without its comments."""
    text = re.sub(r"^[ \t]*/\*.*?\*/[ \t]*$", "", text, flags=re.M | re.S)
    attributes, blocks = [], [[]]
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("//"):
            continue
        if line == "}":
            attributes = []
            blocks.pop()
        elif ATTRIBUTE.match(line):
            attributes.append(line)
        else:
            one = Declaration(attributes, line)
            attributes = []
            blocks[-1].append(one)
            if line.endswith("{"):
                one.members = []
                blocks.append(one.members)
    return blocks[0]


def name(one):
    """What a declaration at the top of a module declares, if it must be the only one; nil for functions and extensions."""
    match = NAMED.match(one.line)
    return match and match[1]


def interface(texts, additions):
    """The interface of everything that the modules declare, with the additions in place of what they declare too."""
    seen = {name(one) for one in parsed(additions)} - {None}
    lines = [additions]
    for text in texts:
        for one in parsed(text):
            if one.line.startswith("import ") or name(one) in seen or not keep(one, seen):
                continue
            if name(one):
                seen.add(name(one))
            lines += url_error(one) if name(one) == "URLError" else one.text()
    return "\n".join([*lines, ""])


def url_error(linux):
    """URLError, whose codes are an enumeration on Linux and a structure on Apple platforms."""
    enumeration = next(member for member in linux.members if "enum Code" in member.line)
    codes = [f"public static var {code.line.split()[1]}: URLError.Code {{ get }}" for code in enumeration.members]
    return f"""\
public struct URLError : Error, Hashable, Sendable {{
    public struct Code : RawRepresentable, Hashable, Sendable {{
        public let rawValue: Int
        public init(rawValue: Int)
        {" ; ".join(codes)}
    }}
    public init(_ code: URLError.Code, userInfo: [String : Any] = [:])
    public var code: URLError.Code {{ get }}
    public var errorCode: Int {{ get }}
    public var userInfo: [String : Any] {{ get }}
    public var errorUserInfo: [String : Any] {{ get }}
    public var localizedDescription: String {{ get }}
    public static var errorDomain: String {{ get }}
    public func hash(into hasher: inout Hasher)
    public static func == (a: URLError, b: URLError) -> Bool
}}""".split("\n")


def keep(one, seen, owner=None):
    """Corrects a declaration and its members; false when it must be left out."""
    if OMITTED.search(one.line):
        return False
    one.attributes = [attribute for attribute in one.attributes if not OMITTED.search(attribute)]
    # Words for code that the interface does not contain, and names of Linux's C library.
    line = re.sub(r"@(inlinable|inline\(\w+\)|usableFromInline|frozen) |\b(private|internal|fileprivate)\(set\) |\bGlibc\.", "", one.line)
    # A property without accessors would be stored, which extensions cannot have.
    if not (owner or "").startswith("protocol ") and PROPERTY.match(line) and "{" not in line:
        line += " { get set }"
    one.line = line
    if one.members is not None:
        kind = re.search(r"\b(protocol )?(?:class |struct |enum |extension )?([\w.]+)(?: *[:<{]| where)", line)
        within = (kind[1] or "") + kind[2] if kind else line
        one.members = [member for member in one.members if keep(member, seen, within)]
        # Only Apple's coders know formatters.
        if re.search(r"\benum Date(De|En)codingStrategy\b", line):
            one.members.append(Declaration([], "case formatted(DateFormatter)"))
    # The same member in a type of one module and in an extension of another.
    if owner and "typealias " in line:
        if (owner, line) in seen:
            return False
        seen.add((owner, line))
    return True

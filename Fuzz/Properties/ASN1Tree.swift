import TillCrypto

@testable import TillAppStore

/// ASN.1 as a tree that can be altered and written with correct lengths: a mutator of bytes would have to guess the
/// lengths of all levels at once.
struct ASN1Tree {
    var tag: UInt8
    /// The content of a primitive element without children.
    var octets: [UInt8] = []
    /// Nil for a primitive element. An OCTET STRING may contain elements too, as in receipts' attributes.
    var children: [ASN1Tree]?
    /// Whether it is written with an indefinite length.
    var isIndefinite = false

    private static let depthLimit = 16

    /// The consecutive elements that are readable; the rest is left out.
    static func all(in bytes: ArraySlice<UInt8>) -> [ASN1Tree] { elements(bytes, depth: 0).trees }

    private static func elements(_ bytes: ArraySlice<UInt8>, depth: Int) -> (trees: [ASN1Tree], isWhole: Bool) {
        var trees: [ASN1Tree] = []
        var reader = ASN1Reader(bytes)
        while !reader.isAtEnd {
            guard let element = try? reader.next() else { return (trees, false) }
            var tree = ASN1Tree(tag: element.tag)
            let mayHold = element.isConstructed || element.tag == ASN1Reader.Tag.octetString
            if mayHold, depth < depthLimit, !element.content.isEmpty {
                let inner = elements(element.content, depth: depth + 1)
                if inner.isWhole { tree.children = inner.trees }
            }
            if tree.children == nil { tree.octets = Array(element.content) }
            trees.append(tree)
        }
        return (trees, true)
    }

    var bytes: [UInt8] {
        let content = children.map { $0.flatMap(\.bytes) } ?? octets
        return isIndefinite && tag & 0x20 != 0 ? [tag, 0x80] + content + [0, 0] : DERWriter.value(tag: tag, content)
    }

    /// The number of elements, including this one.
    var count: Int { 1 + (children ?? []).reduce(0) { $0 + $1.count } }

    /// Element `index` in preorder, beginning with this one.
    func element(_ index: Int) -> ASN1Tree {
        var rest = index - 1
        for child in index > 0 ? children ?? [] : [] {
            if rest < child.count { return child.element(rest) }
            rest -= child.count
        }
        return self
    }

    /// Replaces element `index` with the result of `change`: none, one or more elements.
    func changing(_ index: Int, _ change: (ASN1Tree) -> [ASN1Tree]) -> [ASN1Tree] {
        if index == 0 { return change(self) }
        var copy = self
        var rest = index - 1
        copy.children = children?.flatMap { child -> [ASN1Tree] in
            defer { rest -= child.count }
            return (0..<child.count).contains(rest) ? child.changing(rest, change) : [child]
        }
        return [copy]
    }
}

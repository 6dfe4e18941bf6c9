/// The known name that was most likely meant; nil if none is near.
///
/// A name is near if it is equal except for case, `-` and `_`; if it is the only one that begins with the typed text
/// (at least three letters); or if at most a third of its letters are wrong, missing, extra or swapped.
public func nearestName(to typed: String, among names: [String]) -> String? {
    let wanted = comparable(typed)
    guard !wanted.isEmpty, wanted.count <= 64 else { return nil }
    var nearest: String?
    var least = Int.max
    for name in names.prefix(10_000) {
        let candidate = comparable(name)
        guard candidate.count <= 100 else { continue }
        let distance = editDistance(wanted, candidate)
        let isNear = distance <= max(wanted.count, candidate.count) / 3 || distance <= 1 && candidate.count > 1
        if isNear, distance < least { (nearest, least) = (name, distance) }
    }
    if let nearest { return nearest }
    let beginnings = names.filter { comparable($0).starts(with: wanted) }
    return wanted.count >= 3 && beginnings.count == 1 ? beginnings.first : nil
}

private func comparable(_ name: String) -> [Unicode.Scalar] {
    name.lowercased().unicodeScalars.filter { $0 != "-" && $0 != "_" }
}

/// The number of insertions, deletions, replacements and swaps of neighbours between the two (optimal string alignment
/// distance).
private func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (i, a) in left.enumerated() {
        var row = [i + 1]
        row.reserveCapacity(right.count + 1)
        for (j, b) in right.enumerated() {
            var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a == b ? 0 : 1))
            if i > 0, j > 0, a == right[j - 1], left[i - 1] == b { cost = min(cost, beforeLast[j - 1] + 1) }
            row.append(cost)
        }
        beforeLast = last
        last = row
    }
    return last[right.count]
}

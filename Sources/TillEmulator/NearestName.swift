/// The name that is most like a mistyped one, or nil if none is near: at most a third of the letters are wrong.
func nearestName(to text: String, in names: [String]) -> String? {
    let typed = Array(text.utf8.prefix(100))
    var best: (name: String, distance: Int)?
    for name in names.prefix(10_000) {
        let known = Array(name.utf8.prefix(100))
        let limit = max(1, known.count / 3)
        guard abs(known.count - typed.count) <= limit else { continue }
        let distance = editDistance(typed, known)
        if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
    }
    return best?.name
}

/// Insertions, deletions and substitutions that turn one text into the other (Levenshtein).
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var row = Array(0...right.count)
    for (i, a) in left.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for (j, b) in right.enumerated() {
            let substituted = diagonal + (a == b ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
        }
    }
    return row[right.count]
}

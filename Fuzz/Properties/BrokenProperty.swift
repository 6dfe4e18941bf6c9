/// What a property claimed and an input disproved.
struct BrokenProperty: Error, CustomStringConvertible {
    let claim: String
    var description: String { "broken property: \(claim)" }
}

/// States what must be so for every input.
func hold(_ truth: Bool, _ claim: @autoclosure () -> String) throws(BrokenProperty) {
    if !truth { throw BrokenProperty(claim: claim()) }
}

/// The same for a value that must be there.
func held<Value>(_ value: Value?, _ claim: @autoclosure () -> String) throws(BrokenProperty) -> Value {
    guard let value else { throw BrokenProperty(claim: claim()) }
    return value
}

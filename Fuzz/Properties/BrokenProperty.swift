/// A property that an input disproved.
struct BrokenProperty: Error, CustomStringConvertible {
    let claim: String
    var description: String { "broken property: \(claim)" }
}

/// Requires that a condition holds for every input.
func hold(_ truth: Bool, _ claim: @autoclosure () -> String) throws(BrokenProperty) {
    if !truth { throw BrokenProperty(claim: claim()) }
}

/// Requires that a value exists.
func held<Value>(_ value: Value?, _ claim: @autoclosure () -> String) throws(BrokenProperty) -> Value {
    guard let value else { throw BrokenProperty(claim: claim()) }
    return value
}

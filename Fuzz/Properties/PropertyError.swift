/// A property that an input disproved.
struct PropertyError: Error, CustomStringConvertible {
    let claim: String
    var description: String { "broken property: \(claim)" }
}

/// Requires that a condition holds for every input.
func hold(_ truth: Bool, _ claim: @autoclosure () -> String) throws(PropertyError) {
    if !truth { throw PropertyError(claim: claim()) }
}

/// Requires that a value exists.
func held<Value>(_ value: Value?, _ claim: @autoclosure () -> String) throws(PropertyError) -> Value {
    guard let value else { throw PropertyError(claim: claim()) }
    return value
}

import TillBilling

@testable import TillAppStore
@testable import TillJSON

/// The properties of every JSON text.
enum JSONProperties {
    static func check(_ input: [UInt8]) throws(PropertyError) {
        let grammar = JSONGrammar.read(input)
        let value = try? JSONValue(decoding: input)
        let isReadable =
            grammar.map {
                $0.depth <= JSONScanner.depthLimit && !$0.hasEndlessNumber && !$0.hasRepeatedKey
                    && $0.longestRun <= CombiningMarkCounter.limit
            } ?? false
        try hold((value != nil) == isReadable, "a value is read exactly if the text is JSON, bounded")
        try utf8MatchesTheLibrary(input)
        if let value { try valuesReadBack(value) }
        try objectsAgree(input, value)
    }

    private static func utf8MatchesTheLibrary(_ input: [UInt8]) throws(PropertyError) {
        let isUTF8 = input.withUnsafeBufferPointer(JSONText.isUTF8)
        try hold(isUTF8 == (String(validating: input, as: UTF8.self) != nil), "UTF-8 is what the library calls UTF-8")
    }

    /// The written text is JSON, decodes to the same value, and is the only text of that value.
    private static func valuesReadBack(_ value: JSONValue) throws(PropertyError) {
        for pretty in [false, true] {
            let text = value.encoded(pretty: pretty)
            try hold(JSONGrammar.read(Array(text.utf8)) != nil, "what is written is JSON")
            let again = try held(try? JSONValue(decoding: text), "what is written can be read")
            try hold(again == value, "what is written reads as the same value")
            try hold(again.encoded(pretty: pretty).utf8.elementsEqual(text.utf8), "equal values are equal texts")
        }
    }

    /// The reader of one object's members accepts exactly the objects that the tree reader accepts, and returns the
    /// same members.
    private static func objectsAgree(_ input: [UInt8], _ value: JSONValue?) throws(PropertyError) {
        let object = try? JSONObject(input)
        try hold((object != nil) == (value?.object != nil), "both readers accept the same objects")
        guard let object, let value else { return }
        for name in names {
            let member = value[name.description]
            try hold(object.has(name) == (member != nil), "both readers have \(name)")
            try read(member, { () throws(JSONError) in try object.string(name) }, name) { $0.string }
            try read(member, { () throws(JSONError) in try object.int64(name) }, name) { $0.int }
            try read(member, { () throws(JSONError) in try object.bool(name) }, name) { $0.bool }
            try read(member, { () throws(JSONError) in try object.strings(name) }, name) { value in
                value.array.flatMap { elements in
                    let texts = elements.compactMap(\.string)
                    return texts.count == elements.count ? texts : nil
                }
            }
            try read(member, { () throws(JSONError) in try object.instant(name)?.milliseconds }, name) { value in
                value.int ?? value.number.flatMap(floor)
            }
            try innerObjectsAgree(member, object, name)
        }
    }

    /// A wrong type throws, a missing member or `null` is nil, anything else is the value.
    private static func read<Value: Equatable>(
        _ member: JSONValue?, _ get: () throws(JSONError) -> Value?, _ name: StaticString,
        _ expected: (JSONValue) -> Value?
    ) throws(PropertyError) {
        let result = Result { () throws(JSONError) in try get() }
        guard let member, !member.isNull else {
            return try hold(result == .success(nil), "what is missing or null reads as nil: \(name)")
        }
        if let expected = expected(member) {
            try hold(result == .success(expected), "both readers read \(name) the same")
        } else {
            try hold(result == .failure(.wrongType), "another type is an error: \(name)")
        }
    }

    private static func innerObjectsAgree(
        _ member: JSONValue?, _ object: JSONObject, _ name: StaticString
    ) throws(PropertyError) {
        let inner = (try? object.object(name)).flatMap { $0 }
        try hold((inner != nil) == (member?.object != nil), "both readers find the object \(name)")
        if let inner {
            for key in names { try hold(inner.has(key) == (member?[key.description] != nil), "\(name).\(key)") }
        }
        let list = (try? object.objects(name)).flatMap { $0 }
        let elements = member?.array.flatMap { $0.allSatisfy { $0.object != nil } ? $0 : nil }
        try hold(list?.count == elements?.count, "both readers find the objects of \(name)")
    }

    private static func floor(_ number: Double) -> Int64? { Int64(exactly: number.rounded(.down)) }

    /// Members to read, which this target's dictionary contains too. None contains a K: trees compare keys as Swift
    /// strings, to which the Kelvin sign (U+212A) equals K.
    static let names: [StaticString] = ["a", "b", "data", "signedDate", "price", "items", ""]
}

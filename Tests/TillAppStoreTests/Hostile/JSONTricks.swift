import Foundation
import TillAppStore
import TillCrypto
import TillJSON

/// Payloads that a malicious signer could sign: every token has the genuine chain and a genuine signature, and the test
/// is about the payload's meaning. It must be refused, or have the one stated meaning.
extension HostileCorpus {
    mutating func addJSON() {
        addGrammar()
        addTypes()
        addDuplicates()
        addMissing()
        addMeanings()
    }

    private func text(_ base: String) -> String { String(decoding: TokenParts(bytes(base)).payload, as: UTF8.self) }

    private mutating func add(
        _ family: HostileFamily, _ base: String, _ harm: String, payload: [UInt8], _ verdict: Verdict? = .malformed,
        meaning: String? = nil
    ) {
        add(family, base, harm, authority.token(payload: payload), verdict, meaning: meaning)
    }

    /// RFC 8259 and RFC 3629 to the letter: parsers differ in how they read violations.
    private mutating func addGrammar() {
        for base in Self.tokenBases {
            let text = text(base)
            let inside = String(text.dropFirst().dropLast())
            for (name, harmed) in Self.ungrammatical(text, inside) {
                add(.jsonGrammar, base, name, payload: Array(harmed.utf8))
            }
        }
        let text = text("transaction")
        let octets: [(String, [UInt8])] = [
            ("NUL", [0]), ("overlong NUL", [0xC0, 0x80]), ("overlong slash", [0xC0, 0xAF]),
            ("overlong in three", [0xE0, 0x80, 0xAF]),
            ("overlong in four", [0xF0, 0x80, 0x80, 0xAF]), ("overlong C1", [0xC1, 0xBF]),
            ("surrogate", [0xED, 0xA0, 0x80]),
            ("surrogate pair", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]), ("beyond 10FFFF", [0xF4, 0x90, 0x80, 0x80]),
            ("five octets", [0xF8, 0x88, 0x80, 0x80, 0x80]), ("lone continuation", [0x80]), ("lone start", [0xC3]),
            ("cut in three", [0xE2, 0x82]), ("FF", [0xFF]), ("FE FF", [0xFE, 0xFF]), ("Latin-1", [0xE9]),
            ("control", [0x1F]),
            ("escape", [0x1B]), ("line feed", [0x0A]), ("tab", [0x09]),
        ]
        for (name, unit) in octets {
            let value = Array(text.replacingOccurrences(of: "CHN", with: "C~N").utf8).split(separator: 0x7E)
            add(.jsonGrammar, "transaction", "\(name) in a value", payload: Array(value[0]) + unit + Array(value[1]))
            let key = Array(text.replacingOccurrences(of: "storefrontId", with: "storefront~").utf8).split(
                separator: 0x7E)
            add(.jsonGrammar, "transaction", "\(name) in a key", payload: Array(key[0]) + unit + Array(key[1]))
            guard name != "line feed", name != "tab" else { continue }
            add(.jsonGrammar, "transaction", "\(name) before", payload: unit + Array(text.utf8))
            add(.jsonGrammar, "transaction", "\(name) after", payload: Array(text.utf8) + unit)
        }
        for (name, encoding) in [("UTF-16", String.Encoding.utf16LittleEndian), ("UTF-32", .utf32BigEndian)] {
            add(.jsonGrammar, "transaction", name, payload: text.data(using: encoding).map { Array($0) } ?? [])
        }
        for count in stride(from: 0, to: text.utf8.count, by: 29) {
            add(.jsonGrammar, "transaction", "cut after \(count) octets", payload: Array(text.utf8.prefix(count)))
        }
    }

    private static func ungrammatical(_ text: String, _ inside: String) -> [(String, String)] {
        func nested(_ open: String, _ count: Int, _ close: String) -> String {
            #"{"deep":\#(String(repeating: open, count: count))1\#(String(repeating: close, count: count)),\#(inside)}"#
        }
        return [
            ("comma at the end", "{\(inside),}"), ("comma at the beginning", "{,\(inside)}"),
            ("two commas", "{\(inside),,\"a\":1}"),
            ("comment", "{/* */\(inside)}"), ("line comment", "{//\n\(inside)}"), ("hash comment", "{#\n\(inside)}"),
            ("single quotes", text.replacingOccurrences(of: "\"", with: "'")), ("bare key", "{a:1,\(inside)}"),
            ("no colon", "{\"a\" 1,\(inside)}"), ("no comma", "{\"a\":1 \(inside)}"),
            ("key without value", "{\"a\",\(inside)}"),
            ("number as key", "{1:1,\(inside)}"), ("null as key", "{null:1,\(inside)}"),
            ("NaN", "{\"a\":NaN,\(inside)}"),
            ("Infinity", "{\"a\":Infinity,\(inside)}"), ("-Infinity", "{\"a\":-Infinity,\(inside)}"),
            ("undefined", "{\"a\":undefined,\(inside)}"),
            ("True", "{\"a\":True,\(inside)}"), ("nulL", "{\"a\":nulL,\(inside)}"),
            ("leading zero", "{\"a\":01,\(inside)}"),
            ("minus zero one", "{\"a\":-01,\(inside)}"), ("plus", "{\"a\":+1,\(inside)}"),
            ("no digit before", "{\"a\":.5,\(inside)}"),
            ("no digit after", "{\"a\":1.,\(inside)}"), ("hexadecimal", "{\"a\":0x10,\(inside)}"),
            ("no exponent", "{\"a\":1e,\(inside)}"),
            ("only minus", "{\"a\":-,\(inside)}"), ("digits in groups", "{\"a\":1_000,\(inside)}"),
            ("two points", "{\"a\":1.2.3,\(inside)}"),
            ("full-width digit", "{\"a\":\u{FF11},\(inside)}"), ("bad escape", "{\"a\":\"\\x41\",\(inside)}"),
            ("short escape", "{\"a\":\"\\u12\",\(inside)}"),
            ("escape of nothing", "{\"a\":\"\\u\",\(inside)}"), ("braced escape", "{\"a\":\"\\u{41}\",\(inside)}"),
            ("open text", "{\(inside),\"a\":\"b}"),
            ("open escape", "{\(inside),\"a\":\"b\\"), ("byte order mark", "\u{FEFF}\(text)"),
            ("no-break space", "\u{A0}\(text)"),
            ("line separator", "\u{2028}\(text)"), ("form feed", "\u{C}\(text)"), ("something after", "\(text)x"),
            ("two objects", "\(text)\(text)"),
            ("two lines", "\(text)\n\(text)"), ("a bracket more", "\(text)}"), ("a list", "[\(text)]"),
            ("a text", JSONValue.string(text).encoded()),
            ("a number", "1"), ("an exponent no double holds", "{\"a\":1e400,\(inside)"),
            ("a number no double holds", "{\"a\":\(String(repeating: "9", count: 9_000)),\(inside)"),
            ("null", "null"), ("true", "true"), ("nothing", ""), ("blanks", " \n\t "),
            ("no bracket", inside),
            ("wrong bracket", "{\(inside)]"), ("65 levels of lists", nested("[", 65, "]")),
            ("65 levels of objects", nested("{\"a\":", 65, "}")),
            ("1000 levels of lists", nested("[", 1_000, "]")), ("10000 levels of lists", nested("[", 10_000, "]")),
            ("5000 levels of objects", nested("{\"a\":", 5_000, "}")),
            ("10000 open lists", "{\"a\":" + String(repeating: "[", count: 10_000)),
            ("unclosed objects", String(repeating: "{\"a\":", count: 6_000)),
        ]
    }

    // MARK: Types

    private static let texts = [
        "transactionId", "originalTransactionId", "webOrderLineItemId", "bundleId", "productId",
        "subscriptionGroupIdentifier",
        "type", "appAccountToken", "inAppOwnershipType", "revocationType", "offerIdentifier", "offerDiscountType",
        "offerPeriod",
        "environment", "storefront", "storefrontId", "transactionReason", "currency", "appTransactionId",
        "billingPlanType",
        "previousOriginalTransactionId", "deviceVerification", "deviceVerificationNonce",
    ]
    private static let numbers = ["quantity", "revocationReason", "revocationPercentage", "offerType", "price"]
    private static let dates = ["purchaseDate", "originalPurchaseDate", "expiresDate", "signedDate", "revocationDate"]
    private static let objects = ["advancedCommerceInfo", "commitmentInfo"]

    private mutating func addTypes() {
        let long = "123456789012345678901234567890"
        let notText = ["1", "1.5", "true", "[]", "{}", "[\"x\"]"]
        let notNumber = ["\"1\"", "true", "[]", "{}", "1.5", "1e2", "1e400", "9223372036854775808", long, "[1]"]
        let notDate = ["\"1748736000000\"", "true", "[]", "{}", "1e400", "9223372036854775808", "1e19", "-1e19", long]
        let notObject = ["1", "\"{}\"", "true", "[]", "[{}]"]
        let notTruth = ["1", "0", "\"true\"", "[]", "{}"]
        for (fields, values) in [
            (Self.texts, notText), (Self.numbers, notNumber), (Self.dates, notDate), (Self.objects, notObject),
            (["isUpgraded"], notTruth),
        ] {
            for field in fields { add(types: values, field, "transaction") }
        }
        for (field, values) in [
            ("originalTransactionId", notText), ("autoRenewProductId", notText), ("autoRenewStatus", notNumber),
            ("expirationIntent", notNumber), ("isInBillingRetryPeriod", notTruth), ("gracePeriodExpiresDate", notDate),
            ("renewalPrice", notNumber), ("eligibleWinBackOfferIds", ["1", "\"a\"", "{}", "[1]", "[null]", "[[]]"]),
            ("commitmentInfo", notObject), ("environment", notText),
        ] { add(types: values, field, "renewal") }
        for (field, values) in [
            ("receiptType", notText), ("appAppleId", notNumber), ("bundleId", notText),
            ("receiptCreationDate", notDate),
            ("originalPlatform", notText), ("versionExternalIdentifier", notNumber),
        ] { add(types: values, field, "app-transaction") }
        for (field, values) in [
            ("notificationType", notText), ("subtype", notText), ("notificationUUID", notText + ["\"\"", "null"]),
            ("version", notText),
            ("signedDate", notDate), ("data", notObject), ("summary", notObject), ("appData", notObject),
            ("externalPurchaseToken", notObject),
        ] { add(types: values, field, "notification") }
        for (field, values) in [
            ("environment", notText), ("appAppleId", notNumber), ("bundleId", notText), ("bundleVersion", notText),
            ("signedTransactionInfo", notText), ("signedRenewalInfo", notText), ("status", notNumber),
            ("consumptionRequestReason", notText),
        ] {
            for value in values {
                let members = text("notification").replacingOccurrences(of: "\"data\":{", with: "\"data\":{\"~\":0,")
                guard let payload = Self.replacing(field, with: value, in: members, marker: "\"~\":0") else { continue }
                add(.jsonTypes, "notification", "data.\(field) is \(value)", payload: Array(payload.utf8))
            }
        }
    }

    private mutating func add(types values: [String], _ field: String, _ base: String) {
        for value in values {
            guard
                let payload = Self.replacing(
                    field, with: value, in: "{\"~\":0," + text(base).dropFirst(), marker: "\"~\":0")
            else { continue }
            add(.jsonTypes, base, "\(field) is \(value)", payload: Array(payload.utf8))
        }
    }

    /// The text with the member's own value removed and this one in place of the marker.
    private static func replacing(_ field: String, with value: String, in text: String, marker: String) -> String? {
        let own = try? Regex("\"\(field)\":(\"[^\"]*\"|[-0-9.]+|true|false|\\{[^{}]*\\}),?")
        guard let own else { return nil }
        var left = text.replacing(own, with: "")
        left = left.replacingOccurrences(of: ",}", with: "}")
        return left.replacingOccurrences(of: marker, with: "\"\(field)\":\(value)")
    }

    // MARK: Duplicates

    /// A name twice in one object: readers differ in which one counts (RFC 8259 §4), so it is refused.
    private mutating func addDuplicates() {
        for base in Self.tokenBases {
            let text = text(base)
            guard let members = try? JSONValue(decoding: text).object else { continue }
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                let own = "\(JSONValue.string(key).encoded()):\(value.encoded())"
                let initial = key.unicodeScalars.first.map { String(format: "\\u%04x", $0.value) } ?? ""
                let escaped = "\"\(initial)\(key.dropFirst())\":\(value.encoded())"
                let other = "\"\(key)\":" + (value.string == nil ? "7" : "\"Sandbox\"")
                for (name, first, last) in [
                    ("the same twice", own, ""), ("another first", other, ""), ("another last", "", other),
                    ("null first", "\"\(key)\":null", ""),
                    ("null last", "", "\"\(key)\":null"), ("escaped first", escaped, ""), ("escaped last", "", escaped),
                ] {
                    let inside = [first, String(text.dropFirst().dropLast()), last].filter { !$0.isEmpty }.joined(
                        separator: ",")
                    add(.jsonDuplicates, base, "\(key): \(name)", payload: Array("{\(inside)}".utf8))
                }
            }
        }
        let text = text("notification")
        for member in [
            #""bundleId":"com.example.other""#, #""environment":"Sandbox""#, #""appAppleId":1"#,
            #""signedTransactionInfo":"a.b.c""#,
        ] {
            for harmed in [
                text.replacingOccurrences(of: "\"data\":{", with: "\"data\":{\(member),"),
                text.replacingOccurrences(of: "},\"notificationType\"", with: ",\(member)},\"notificationType\""),
            ] {
                add(.jsonDuplicates, "notification", "data: \(member) twice", payload: Array(harmed.utf8))
            }
        }
        for (name, extra) in [
            ("an unknown name twice", #""a":1,"a":2"#), ("an empty name twice", #""":1,"":1"#),
            ("an unknown name, once escaped", #""ab":1,"\u0061b":2"#),
            ("a name in two Unicode forms of escape", #""\u00e9":1,"\u00E9":2"#),
        ] {
            add(
                .jsonDuplicates, "transaction", name,
                payload: Array("{\(extra),\(self.text("transaction").dropFirst())".utf8))
        }
        for count in [100, 1_000, 3_000] {
            let many = (0..<count).map { "\"k\($0)\":0," }.joined()
            let harmed = "{\(many)\"k\(count / 2)\":1,\(self.text("transaction").dropFirst())"
            add(.jsonDuplicates, "transaction", "one of \(count) unknown names twice", payload: Array(harmed.utf8))
        }
    }

    // MARK: Values

    private mutating func addMissing() {
        let long = String(repeating: "1", count: 300)
        func token(_ changes: [String: JSONValue?]) -> [UInt8] {
            Array(TestPayloads.transaction(changes).encoded().utf8)
        }
        for field in ["transactionId", "productId", "purchaseDate", "signedDate"] {
            for (name, value) in [("absent", JSONValue?.none), ("null", .some(.null))] {
                add(.jsonMissing, "transaction", "\(field) is \(name)", payload: token([field: value]))
            }
        }
        for field in ["transactionId", "originalTransactionId", "productId", "bundleId"] {
            for value in ["", " ", "a b", "a\u{0}", "\u{7F}", "é", "\u{FF11}", "a\n", long, "\u{202E}1", "\u{FEFF}1"] {
                let harm = "\(field) is \(JSONValue.string(value).encoded().prefix(20))"
                add(.jsonMissing, "transaction", harm, payload: token([field: .string(value)]))
            }
        }
        for quantity in [0, -1, -2_147_483_648, 2_147_483_648, .max, .min] as [Int64] {
            add(.jsonMissing, "transaction", "quantity is \(quantity)", payload: token(["quantity": .int(quantity)]))
        }
        for bundle in [
            "com.example.other", "com.example.Learn", "com.example.learn.", "com.example.lear", "com.example.learn2",
            "*",
        ] {
            add(.jsonMissing, "transaction", "app \(bundle)", payload: token(["bundleId": .string(bundle)]), .wrongApp)
            let app = TestPayloads.appTransaction(["bundleId": .string(bundle)])
            add(.jsonMissing, "app-transaction", "app \(bundle)", payload: Array(app.encoded().utf8), .wrongApp)
            let notification = TestPayloads.notification(data: ["bundleId": .string(bundle)])
            add(.jsonMissing, "notification", "app \(bundle)", payload: Array(notification.encoded().utf8), .wrongApp)
        }
        let environments: [JSONValue?] = [
            "Sandbox", "Xcode", "LocalTesting", "production", "PRODUCTION", "Production ", "", "ProductionSandbox",
            "Prod\u{0}uction", nil, .null,
        ]
        for environment in environments {
            let name = environment?.encoded() ?? "absent"
            add(
                .jsonMissing, "transaction", "environment \(name)", payload: token(["environment": environment]),
                .wrongEnvironment)
            let renewal = TestPayloads.renewal(["environment": environment])
            add(
                .jsonMissing, "renewal", "environment \(name)", payload: Array(renewal.encoded().utf8),
                .wrongEnvironment)
            let notification = TestPayloads.notification(data: ["environment": environment])
            let verdict: Verdict = .wrongEnvironment
            add(
                .jsonMissing, "notification", "environment \(name)", payload: Array(notification.encoded().utf8),
                verdict)
            guard environment != nil else { continue }
            let app = TestPayloads.appTransaction(["receiptType": environment])
            add(
                .jsonMissing, "app-transaction", "receiptType \(name)", payload: Array(app.encoded().utf8),
                .wrongEnvironment)
        }
        for number in [1, 0, -1, 1_234_567_891, nil] as [Int64?] {
            let value = number.map(JSONValue.int)
            let app = TestPayloads.appTransaction(["appAppleId": value])
            add(
                .jsonMissing, "app-transaction", "appAppleId \(value?.encoded() ?? "absent")",
                payload: Array(app.encoded().utf8), .wrongApp)
            let notification = TestPayloads.notification(data: ["appAppleId": value])
            add(
                .jsonMissing, "notification", "appAppleId \(value?.encoded() ?? "absent")",
                payload: Array(notification.encoded().utf8), .wrongApp)
        }
    }

    /// Unusual and good: each of these has one meaning.
    private mutating func addMeanings() {
        let text = text("transaction")
        let inside = text.dropFirst()
        let same: [(String, String)] = [
            ("an escaped key", text.replacingOccurrences(of: "bundleId", with: "bundle\\u0049d")),
            ("escaped values", text.replacingOccurrences(of: "com.example", with: "com\\u002eexample")),
            ("blanks", text.replacingOccurrences(of: ",", with: " ,\r\n\t")),
            ("30 KB of blanks", String(repeating: " ", count: 30_000) + text),
            ("4000 unknown members", "{" + (0..<4_000).map { "\"u\($0)\":0," }.joined() + inside),
            (
                "60 levels in an unknown member",
                "{\"deep\":\(String(repeating: "[", count: 60))\(String(repeating: "]", count: 60)),\(inside)"
            ),
            (
                "names that look like ours",
                "{\"bundleID\":\"x\",\"BundleId\":\"x\",\"bundleId \":\"x\",\"ｂundleId\":\"x\",\(inside)"
            ),
            ("a long number in an unknown member", "{\"a\":\(String(repeating: "9", count: 300)),\(inside)"),
            ("prototype members", "{\"__proto__\":{\"bundleId\":\"x\"},\"constructor\":1,\(inside)"),
        ]
        for (name, payload) in same { add(.harmless, "transaction", name, payload: Array(payload.utf8), nil) }
        let meanings: [(String, (String, String), (String, String))] = [
            ("a price of minus zero", (#""price":6000"#, #""price":-0"#), ("price 6000", "price 0")),
            ("a negative price", (#""price":6000"#, #""price":-6000"#), ("price 6000", "price -6000")),
            (
                "the largest price", (#""price":6000"#, #""price":9223372036854775807"#),
                ("price 6000", "price 9223372036854775807")
            ),
            (
                "the smallest price", (#""price":6000"#, #""price":-9223372036854775808"#),
                ("price 6000", "price -9223372036854775808")
            ),
            ("half a surrogate pair", ("CHN", "\\ud800"), ("CHN", "\u{FFFD}")),
            ("a pair the wrong way round", ("CHN", "\\ude00\\ud83d"), ("CHN", "\u{FFFD}\u{FFFD}")),
            ("an escaped pair", ("CHN", "\\ud83d\\ude00"), ("CHN", "\u{1F600}")),
            ("an escaped NUL", ("CHN", "C\\u0000N"), ("CHN", "C\u{0}N")),
            (
                "a token that is no UUID", ("7E3FB20B-4CDB-47CC-936D-99D65F608138", "x"),
                ("7E3FB20B-4CDB-47CC-936D-99D65F608138", "x")
            ),
            ("an unknown type", ("Consumable", "Perishable"), ("Consumable", "Perishable")),
            ("the largest quantity", (#""quantity":1"#, #""quantity":2147483647"#), ("× 1 ", "× 2147483647 ")),
            ("a date with a fraction", ("1748736000000", "1748736000000.9"), ("", "")),
            ("a date with an exponent", ("1748736000000", "1.748736e12"), ("", "")),
            ("a null quantity", (#""quantity":1"#, #""quantity":null"#), ("", "")),
            (
                "a null token", ("\"7E3FB20B-4CDB-47CC-936D-99D65F608138\"", "null"),
                ("7E3FB20B-4CDB-47CC-936D-99D65F608138", "none")
            ),
            ("a purchase before 1970", ("1748735995000", "-1"), ("1748735995000", "-1")),
            (
                "a purchase at the end of time", ("1748735995000", "9223372036854775807"),
                ("1748735995000", "9223372036854775807")
            ),
        ]
        for (name, harm, meaning) in meanings {
            let payload = text.replacingOccurrences(of: harm.0, with: harm.1)
            let stated =
                meaning.0.isEmpty
                ? Self.soundMeaning : Self.soundMeaning.replacingOccurrences(of: meaning.0, with: meaning.1)
            add(.oneMeaning, "transaction", name, payload: Array(payload.utf8), nil, meaning: stated)
        }
        let hidden = "{\"unknown\":{\"a\":1,\"a\":2},\(inside)"
        add(.jsonDuplicates, "transaction", "a name twice in a field that is not read", payload: Array(hidden.utf8))
    }

    /// `Outcome.meaning(of:)` of the good transaction.
    static let soundMeaning =
        "2000000900000001 com.example.learn.coins60 × 1 Consumable production price 6000 CHN token "
        + "7E3FB20B-4CDB-47CC-936D-99D65F608138 at 1748735995000 signed 1748736000000"
}

import Foundation
import Testing
import TillBilling

@testable import TillAppStore
@testable import TillJSON

/// Apple's formats, in the folder beside the repository (`../shared/facts`).
enum SharedFacts {
    static let directory = SharedVectors.directory.deletingLastPathComponent().appendingPathComponent("facts")
    static let arePresent = FileManager.default.fileExists(atPath: directory.path + "/jws.md")
}

@Suite(
    "Every field that the facts name has a type here, or is passed through deliberately",
    .enabled(if: SharedFacts.arePresent, "../shared/facts is not beside the repository"))
struct FactsCoverageTests {
    /// The lines of one section, found by the beginning of its heading.
    private func section(_ heading: String, of file: String) throws -> [String] {
        let text = try String(contentsOf: SharedFacts.directory.appendingPathComponent(file), encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix(heading) })
        let level = heading.prefix { $0 == "#" } + " "
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix(level) && !$0.hasPrefix("## ") })
    }

    /// The cells of a section's tables, without the header rows.
    private func rows(_ lines: [String]) -> [[String]] {
        lines.filter {
            $0.hasPrefix("|") && !$0.hasPrefix("|--") && !$0.hasPrefix("| Field") && !$0.hasPrefix("| Type")
        }
        .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    private func names(_ cell: String) -> [String] {
        cell.split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
    }

    private func keys(_ members: JSONMembers) -> Set<String> { Set(members.list.map(\.key.description)) }

    @Test("Transactions, renewal infos and app transactions (facts/jws §4 to §6)")
    func tokens() throws {
        let empty = try JSONObject(Array("{}".utf8))
        let sections: [(String, JSONMembers, [String: JSONValue], Int)] = [
            ("## 4.", try TransactionPayload(empty).members, PayloadSamples.transaction, 34),
            ("## 5.", try RenewalInfoPayload(empty).members, PayloadSamples.renewalInfo, 20),
            ("## 6.", try AppTransactionPayload(empty).members, PayloadSamples.appTransaction, 12),
        ]
        for (heading, members, sample, least) in sections {
            let fields = rows(try section(heading, of: "jws.md")).flatMap { names($0[0]) }
            #expect(fields.count >= least, "\(heading)")
            for field in fields { #expect(keys(members).contains(field), "\(heading) \(field)") }
            #expect(keys(members) == Set(sample.keys), "the samples have every member")
        }
    }

    @Test("The objects inside them: commitments and advanced commerce")
    func nestedObjects() throws {
        func typed(_ value: JSONValue) -> Set<String> {
            switch value {
            case .object(let members): members.reduce(into: Set(members.keys)) { $0.formUnion(typed($1.value)) }
            case .array(let elements): elements.reduce(into: []) { $0.formUnion(typed($1)) }
            default: []
            }
        }
        for (heading, sample) in [("## 4.", PayloadSamples.transaction), ("## 5.", PayloadSamples.renewalInfo)] {
            let notes = rows(try section(heading, of: "jws.md"))
                .filter { ["commitmentInfo", "advancedCommerceInfo"].contains($0[0]) }.map { $0[2] }
            #expect(notes.count == 2)
            let known = typed(.object(sample))
            for note in notes {
                let list =
                    note.contains(": ") && !note.hasPrefix("consistency") ? note.components(separatedBy: ": ")[1] : note
                let words = list.replacing(/\([^)]*\)/, with: "").matches(of: /[A-Za-z]{3,}/).map { String($0.0) }
                let types: Set<String> = ["int", "string", "SCHEDULED", "PENDING", "ACCEPTED"]
                for word in words where !types.contains(word) { #expect(known.contains(word), "\(word)") }
                #expect(words.count >= 4)
            }
        }
        // The samples' members are read too: PayloadRoundTripTests writes them again from the types alone.
        let object = try JSONObject(Array(JSONValue.object(PayloadSamples.transaction).encoded().utf8))
        let payload = try TransactionPayload(object)
        #expect(payload.advancedCommerce?.items?[0].refunds?[0].type == "x")
        #expect(payload.commitment?.totalBillingPeriods == 1)
    }

    @Test("Notifications and their subjects (facts/jws §7)")
    func notifications() throws {
        let empty = try JSONObject(Array("{}".utf8))
        let lines = try section("## 7.", of: "jws.md")
        let fields = rows(lines).flatMap { names($0[0].replacing("exactly one of: ", with: "")) }
        #expect(fields.count == 9)
        for field in fields { #expect(keys(try NotificationPayload(empty).members).contains(field), "\(field)") }
        let parts: [(String, JSONMembers)] = [
            ("data", try NotificationPayload.Data(empty).members),
            ("summary", try NotificationPayload.Summary(empty).members),
            ("externalPurchaseToken", try NotificationPayload.ExternalPurchaseToken(empty).members),
            ("appData", try NotificationPayload.AppData(empty).members),
        ]
        for (name, members) in parts {
            let line = try #require(lines.first { $0.hasPrefix("- `\(name)`") })
            let list = line.replacing(#/^[^:]*: /#, with: "").replacing(/\(docs of June 2025 add ([^;]*);[^)]*\)/) {
                ", \($0.output.1)"
            }
            let words = list.replacing(/\([^)]*\)|\[[^\]]*\]/, with: "").split(separator: ",")
                .compactMap { $0.firstMatch(of: /[A-Za-z]+/).map { String($0.0) } }
            #expect(words.count >= 4)
            #expect(Set(words).isSubset(of: keys(members)), "\(name): \(words)")
            #expect(Set(words).count == members.list.count, "\(name): \(words)")
        }
    }

    @Test("Types and subtypes of notifications (facts/notifications §4)")
    func notificationTypes() throws {
        let rows = rows(try section("## 4.", of: "notifications.md")).filter { $0[0] != "notificationType" }
        func codes(_ cell: String) -> [String] { cell.matches(of: /[A-Z]+(_[A-Z]+)+|[A-Z]{4,}/).map { String($0.0) } }
        // A row that begins with a blank cell has its subtype where other rows have their type.
        let all = Set(rows.flatMap { codes($0[0]) + codes($0.count > 3 ? $0[1] : "") })
        let types = Set(NotificationType.known.map(\.rawValue))
        let subtypes = Set(NotificationSubtype.known.map(\.rawValue))
        #expect(all.count >= 38 && all == types.union(subtypes), "\(all.symmetricDifference(types.union(subtypes)))")
        #expect(types.count == 23 && subtypes.count == 19)
    }

    @Test("Attributes of receipts and of their purchases (facts/pkcs7-receipt §3)")
    func receiptAttributes() throws {
        let app = rows(try section("### 3.1", of: "pkcs7-receipt.md")).flatMap { types($0[0]) }
        let purchase = rows(try section("### 3.2", of: "pkcs7-receipt.md")).flatMap { types($0[0]) }
        // ReceiptRoundTripTests states which of these ranges are named and which are passed through.
        #expect(Set(app) == Set(0...21).union([25]))
        #expect(Set(purchase) == Set(1_701...1_722))
    }

    /// `17`, `6, 7` or `1714–1718`.
    private func types(_ cell: String) -> [Int64] {
        let numbers = cell.matches(of: /[0-9]+/).compactMap { Int64(String($0.0)) }
        guard cell.contains("–"), let from = numbers.first, let to = numbers.last else { return numbers }
        return Array(from...to)
    }

    @Test("Lines of old-style receipts (facts/verify-receipt §9)")
    func oldStyleLines() throws {
        let lines = try section("## 9.", of: "verify-receipt.md")
        let line = try #require(lines.first { $0.hasPrefix("`purchase-info` keys") })
        let keys = line.matches(of: /`([a-z\-\[\],]+)`/).flatMap { match -> [String] in
            let text = String(match.output.1)
            let stem = text.replacing(/\[.*\]/, with: "")
            let endings =
                text.firstMatch(of: /\[(.*)\]/).map { $0.output.1.split(separator: ",").map(String.init) } ?? []
            return [stem] + endings.map { stem + $0 }
        }.filter { $0 != "purchase-info" }
        #expect(keys.count >= 20)
        let typed: [String: (OldStylePurchase) -> Bool] = [
            "original-purchase-date-ms": { $0.originalPurchaseDate != nil },
            "purchase-date-ms": { $0.purchaseDate != nil },
            "unique-identifier": { $0.uniqueIdentifier != nil },
            "unique-vendor-identifier": { $0.uniqueVendorIdentifier != nil },
            "original-transaction-id": { $0.originalTransactionID != nil },
            "transaction-id": { $0.transactionID != nil },
            "product-id": { $0.productID != nil }, "quantity": { $0.quantity != nil }, "bid": { $0.bundleID != nil },
            "bvrs": { $0.bundleVersion != nil }, "item-id": { $0.itemID != nil },
            "app-item-id": { $0.appItemID != nil },
            "version-external-identifier": { $0.versionExternalIdentifier != nil },
            "expires-date": { $0.expiresDate != nil }, "web-order-line-item-id": { $0.webOrderLineItemID != nil },
            "is-trial-period": { $0.isTrialPeriod != nil },
            "is-in-intro-offer-period": { $0.isInIntroductoryOfferPeriod != nil },
        ]
        // The same dates again, as text for people.
        let carried: Set<String> = [
            "original-purchase-date", "original-purchase-date-pst", "purchase-date", "purchase-date-pst",
            "expires-date-formatted", "expires-date-formatted-pst",
        ]
        for key in keys {
            let purchase = try #require(OldStylePurchase(Array("{\"\(key)\" = \"1\";}".utf8)))
            #expect(purchase.lines == [key: "1"])
            #expect(typed[key]?(purchase) ?? carried.contains(key), "\(key)")
        }
    }
}

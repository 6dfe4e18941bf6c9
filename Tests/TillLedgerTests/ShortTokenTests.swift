import Testing
import TillBilling
import TillCrypto
import TillSQL
import TillTestDatabases

@testable import TillLedger

@Suite("Signed texts are stored without their certificates") struct ShortTokenTests {
    /// A header as long as Apple's, which only its signer's tokens have.
    private func header(_ signer: String) -> String {
        Base64.encode(
            Array(#"{"alg":"ES256","x5c":["\#(String(repeating: signer, count: 4_000))"]}"#.utf8), .url)
    }

    private func token(_ payload: some Sequence<UInt8>, signer: String = "A") -> String {
        let signature = Base64.encode((0..<64).map { UInt8($0) }, .url)
        return "\(header(signer)).\(Base64.encode(Array(payload), .url)).\(signature)"
    }

    private func token(_ payload: String, signer: String = "A") -> String { token(payload.utf8, signer: signer) }

    private func notification(_ signer: String = "A", inner: String = "A", _ more: String = "") -> String {
        let (transaction, renewal) = (token(#"{"transactionId":"1"}"#, signer: inner), token("{}", signer: inner))
        let data = #"{"signedTransactionInfo":"\#(transaction)","signedRenewalInfo":"\#(renewal)"}"#
        return token(#"{"notificationType":"SUBSCRIBED",\#(more)"data":\#(data),"version":"2.0"}"#, signer: signer)
    }

    /// The text that is stored; what is read must be what was given.
    private func stored(_ text: String, _ connection: any Connection) throws -> String {
        let tokens = ShortToken(connection, knowing: nil)
        let stored = try tokens.storedText(Array(text.utf8))
        #expect(try tokens.whole(stored) == text)
        return stored
    }

    @Test("A notification names the header of its three tokens, and is read byte for byte")
    func threeTokens() async throws {
        try await withLedger(on: .sqlite) { ledger in
            try await ledger.write { connection in
                let stored = try stored(notification(), connection)
                let beginning = ##"#1.{"notificationType":"SUBSCRIBED","data":{"signedTransactionInfo":"#1."##
                #expect(stored.hasPrefix(beginning))
                #expect(stored.utf8.count < 600 && notification().utf8.count > 20_000)
                #expect(try ProofHeaderTable(connection, knowing: nil).find(1) == Array((header("A") + ".").utf8))
            }
        }
    }

    @Test("Tokens of another signer inside are named if a purchase brought their header, and stay whole otherwise")
    func twoSigners() async throws {
        try await withLedger(on: .sqlite) { ledger in
            try await ledger.write { connection in
                let before = try stored(notification(inner: "B"), connection)
                #expect(before.contains(header("B")) && !before.contains(header("A")))
                _ = try ProofHeaderTable(connection, knowing: nil).header(of: Array(token("{}", signer: "B").utf8))
                let after = try stored(notification(inner: "B"), connection)
                #expect(!after.contains(header("B")) && after.contains("\"#2."))
            }
        }
    }

    @Test(
        "What the short form can't give back is stored as it came",
        arguments: ["", "no token", "a.b", "a.b.c.d", "e30.e30.e30="])
    func others(text: String) async throws {
        try await withLedger(on: .sqlite) { ledger in
            try await ledger.write { connection in
                let stored = try ShortToken(connection, knowing: nil).storedText(Array(text.utf8))
                #expect(stored == text)
            }
        }
    }

    @Test("So is a payload that contains the mark, or that is no text, also where its header is known")
    func marks() async throws {
        try await withLedger(on: .sqlite) { ledger in
            try await ledger.write { connection in
                let marked = notification("A", inner: "A", ##""offer":"#1.x","##)
                let bytes = token([0x7B, 0xFF, 0x22, 0x7D])
                let stored = try [marked, bytes].map { try self.stored($0, connection) }
                #expect(stored == [marked, bytes])
                for payload in ["\"", "{\"", #"{"a":"eyJ"#, #"{"a":"eyJ.""#, ".", #""x"."#, "", "{}"] {
                    #expect(try self.stored(token(payload), connection).hasPrefix("#1."))
                }
            }
        }
    }

    @Test("A token whose header is missing, or that is cut, is named as damage")
    func damage() async throws {
        try await withLedger(on: .sqlite) { ledger in
            try await ledger.write { connection in
                let tokens = ShortToken(connection, knowing: nil)
                let stored = try tokens.stored(Array(notification().utf8))
                for cut in [Array("#9.{}.c2ln".utf8), Array("#".utf8), Array("#1".utf8), Array(stored.prefix(3))] {
                    #expect(throws: DatabaseError.self) { try tokens.whole(cut) }
                }
            }
        }
    }

    @Test("A damaged notification that waits does not hold up the others, and is named")
    func damagedBesideOthers() async throws {
        try await withLedger(on: .sqlite) { ledger in
            try await ledger.write { connection in
                let notifications = NotificationTable(connection)
                for uuid in ["a", "b", "c"] {
                    _ = try notifications.insert(
                        uuid: uuid, environment: .sandbox, type: "TEST", subtype: nil, signedAt: nil,
                        at: Instant(seconds: 1), payload: Array(notification().utf8))
                }
                try connection.execute("UPDATE notifications SET payload = '#9.{}.c2ln' WHERE uuid = 'b'", [])
                let pending = try notifications.pending(after: 0, limit: 10)
                #expect(pending.map(\.payload) == [notification(), "", notification()])
                #expect(pending.map(\.damage?.kind) == [nil, .corrupt, nil])
                #expect(throws: DatabaseError.self) { try notifications.find(uuid: "b") }
            }
        }
    }

    @Test("A database with several servers stores texts whole, and reads the short ones of a copied file")
    func shared() async throws {
        try await withLedger { ledger in
            try await ledger.write { connection in
                let text = Array(notification().utf8)
                let tokens = ShortToken(connection, knowing: nil)
                #expect(try (tokens.stored(text) == text) == connection.isShared)
                _ = try ProofHeaderTable(connection, knowing: nil).header(of: text)
                #expect(try tokens.whole(Array("#1.{}.c2ln".utf8)) == Array("\(header("A")).e30.c2ln".utf8))
            }
        }
    }

    @Test("Notifications and renewal statements are stored short and read whole")
    func tables() async throws {
        try await withLedger { ledger in
            try await ledger.write { connection in
                let at = Instant(milliseconds: 1_700_000_000_123)
                let (notifications, subscriptions) = (NotificationTable(connection), SubscriptionTable(connection))
                let text = notification()
                _ = try notifications.insert(
                    uuid: "n", environment: .sandbox, type: "SUBSCRIBED", subtype: nil, signedAt: at, at: at,
                    payload: Array(text.utf8))
                #expect(try notifications.find(uuid: "n")?.payload == text)
                #expect(try notifications.pending(after: 0, limit: 9).map(\.payload) == [text])
                #expect(try notifications.contains("n") && !notifications.contains("m"))

                let proof = Array(token(#"{"autoRenewStatus":1}"#).utf8)
                let chain = try subscriptions.insert(
                    TransactionID("100"), in: .sandbox, at: at, renewal: (RenewalTerms(signedAt: at), proof))
                #expect(try subscriptions.renewalProof(of: chain.rowID) == proof)
                try subscriptions.update(chain.rowID, to: RenewalTerms(signedAt: at), proof: proof, at: at)
                #expect(try subscriptions.renewals(AuditSlice(after: 0, last: 99)).map(\.proof) == [proof])
                let bytes = try connection.first(
                    """
                    SELECT length(n.payload) + length(s.renewal_proof) AS bytes FROM notifications n, subscriptions s
                    """, []
                ) { $0.integer("bytes") }
                #expect((bytes ?? 0 < 1_000) == !connection.isShared)
            }
        }
    }
}

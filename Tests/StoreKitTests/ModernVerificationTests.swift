import Foundation
import StoreKit
import Testing
import TillCrypto
import TillEmulator
import TillHTTP
import TillJSON
import TillThreads

@Suite("StoreKit 2: verification")
struct ModernVerificationTests {
    private typealias Failure = VerificationResult<Transaction>.VerificationError

    /// An intermediary's change of a token.
    struct Forgery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let expected: String
        let forge: @Sendable (_ token: String) -> String

        init(_ name: String, _ expected: String, _ forge: @escaping @Sendable (String) -> String) {
            testDescription = name
            self.expected = expected
            self.forge = forge
        }
    }

    private static func part(_ number: Int, _ change: @escaping @Sendable (JSONValue) -> JSONValue)
        -> @Sendable (
            String
        ) -> String
    {
        { token in
            var parts = token.split(separator: ".").map(String.init)
            let value = (try? JSONValue(decoding: Base64.decode(parts[number], .url) ?? [])) ?? .null
            parts[number] = Base64.encode(Array(change(value).encoded().utf8), .url)
            return parts.joined(separator: ".")
        }
    }

    private static func member(_ name: String, _ new: JSONValue?) -> @Sendable (JSONValue) -> JSONValue {
        { value in
            var members = value.object ?? [:]
            members[name] = new
            return .object(members)
        }
    }

    @Test(
        "A forged token is delivered unverified, with its error",
        arguments: [
            Forgery("untouched", "success") { $0 },
            Forgery("another quantity", "unverified invalidSignature", part(1, member("quantity", 10))),
            Forgery("a signature of zeros", "unverified invalidSignature") { token in
                let end = token.lastIndex(of: ".") ?? token.endIndex
                return String(token[...end]) + Base64.encode([UInt8](repeating: 0, count: 64), .url)
            },
            Forgery("no certificates", "unverified invalidCertificateChain", part(0, member("x5c", nil))),
            Forgery(
                "one certificate", "unverified invalidCertificateChain",
                part(0) { header in
                    member("x5c", .array(Array(header["x5c"]?.array?.prefix(1) ?? [])))(header)
                }),
            Forgery("no algorithm", "unverified invalidEncoding", part(0, member("alg", "none"))),
            Forgery("no product", "unverified missingRequiredProperties", part(1, member("productId", nil))),
        ])
    func forged(_ forgery: Forgery) async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let points = try await phone.product("points60")
            client.cut("", .altered { _, response in Self.alter(response, forgery.forge) })
            #expect(await name { try await phone.run { try await points.purchase() } } == forgery.expected)
            // The sequences also contain it, unverified.
            await phone.run {
                var found: [String] = []
                for await result in Transaction.unfinished {
                    switch result {
                    case .verified: found.append("success")
                    case .unverified(_, let error): found.append("unverified \(error)")
                    }
                }
                #expect(found == [forgery.expected])
            }
        }
    }

    @Test("Another store's signature of the same form has no root that this phone trusts")
    func anotherRoot() async throws {
        try await ModernWorld.with { world in
            let other = try await ModernWorld()
            let token = Locked("")
            let foreign = try await other.phone().bought("points60")
            token.withLock { $0 = foreign.jwsRepresentation }
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let points = try await phone.product("points60")
            client.cut(
                "/emulator/purchases",
                .altered { _, response in
                    Self.alter(response) { _ in token.withLock { $0 } }
                })
            #expect(
                await name { try await phone.run { try await points.purchase() } }
                    == "unverified invalidCertificateChain")
            await other.remove()
        }
    }

    @Test("A payload signed for another phone, or for another app, is not verified here")
    func anotherDevice() async throws {
        try await ModernWorld.with { world in
            let theirs = try await world.phone(2).bought("points300")
            guard case .verified = theirs else {
                Issue.record("\(theirs)")
                return
            }
            let client = NetworkLink()
            let phone = try world.phone(1, client: client)
            let points = try await phone.product("points60")
            client.cut(
                "/emulator/purchases",
                .altered { _, response in
                    Self.alter(response) { _ in theirs.jwsRepresentation }
                })
            #expect(
                await name { try await phone.run { try await points.purchase() } }
                    == "unverified invalidDeviceVerification")
        }
    }

    @Test("A text that is no token is no answer: the purchase fails, and comes once it is readable")
    func rubbish() async throws {
        try await ModernWorld.with { world in
            let client = NetworkLink()
            let phone = try world.phone(client: client)
            let points = try await phone.product("points60")
            client.cut("/emulator/purchases", .altered { _, response in Self.alter(response) { _ in "rubbish" } })
            #expect(await name { try await phone.run { try await points.purchase() } } == "networkError -1011")
            client.mend()
            let listening = phone.listen()
            #expect(await listening.receives(1).count == 1)
            await listening.end()
        }
    }

    private static func alter(_ response: HTTPResponse, _ forge: (String) -> String) -> HTTPResponse {
        guard let json = try? JSONValue(decoding: response.body) else { return response }
        var response = response
        response.body = Array(alter(json, forge).encoded().utf8)
        return response
    }

    private static func alter(_ json: JSONValue, _ forge: (String) -> String) -> JSONValue {
        switch json {
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.map { key, value in
                        (key, key == "signedTransaction" ? .string(forge(value.string ?? "")) : alter(value, forge))
                    }))
        case .array(let elements): .array(elements.map { alter($0, forge) })
        default: json
        }
    }
}

import Testing
import TillBilling

@testable import TillLedger
@testable import TillServer

@Suite("The token in the body that released apps post")
struct PostedTokenTests {
    @Test(
        "The token is found in one pass, wherever it stands",
        arguments: [
            ("token=a.b.c&receipt-data=x", "a.b.c"), ("receipt-data=++&token=a%2Eb", "a.b"), ("token=", ""),
            ("&&token=a&token=b", "a"), (#"{"token":"a"}"#, "a"), (#" { "x" : 1 , "token" : "a\u0062\"" } "#, #"ab""#),
            (#"{"x":{"token":"inner"},"y":[{"token":"too"}],"token":"outer"}"#, "outer"),
            (#"{"x":"\",\"token\":\"in a text\"","token":"own"}"#, "own"), (#"{"x":"token","token":"a"}"#, "a"),
        ])
    func found(_ body: String, _ token: String) {
        #expect(PostedToken.find(in: Array(body.utf8)) == token)
    }

    @Test(
        "In a body without a token, none is found",
        arguments: [
            "", "   ", "+++", "xtoken=a", "tokens=a", "token", "{}", "{", #"{"token":1}"#, #"{"token":"unended}"#,
            #"{"x":"token"}"#, #"{"x":{"token":"inner"}}"#, #"["token","a"]"#, #"{"x":"\"#, #"{"token""#,
        ])
    func missing(_ body: String) {
        #expect(PostedToken.find(in: Array(body.utf8)) == nil)
    }

    @Test("A text longer than any token counts as no token")
    func bounded() {
        let long = String(repeating: "a", count: 7 * Authentication.maximumLength)
        #expect(PostedToken.find(in: Array("token=\(long)".utf8)) == nil)
        #expect(PostedToken.find(in: Array(#"{"token":"\#(long)"}"#.utf8)) == nil)
    }
}

@Suite("How many unknown signers are verified")
struct UnknownSignerTests {
    private let start = Instant(seconds: 1_000_000)

    @Test("A customer or address gets forty at once and ten a second; unauthenticated clients share four times that")
    func pace() {
        let signers = UnknownSigners()
        let token = [UInt8](repeating: UInt8(ascii: "a"), count: UnknownSigners.shortestToken)
        let eve = Credential.user(UserID("eve"))
        #expect((0..<100).filter { _ in signers.mayVerify(token, for: eve, now: start) }.count == 40)
        #expect(signers.mayVerify(token, for: .user(UserID("ann")), now: start))
        #expect(!signers.mayVerify(token, for: eve, now: start.adding(milliseconds: 99)))
        #expect(signers.mayVerify(token, for: eve, now: start.adding(milliseconds: 100)))
        #expect((0..<100).filter { _ in signers.mayVerify(token, forAnonymous: "192.0.2.1", now: start) }.count == 40)
        let verified = (0..<1_000).filter {
            signers.mayVerify(token, forAnonymous: "198.51.100.\($0 % 250)", now: start)
        }
        #expect(verified.count == 120)
        let garbage = Array("a.b.c".utf8)
        #expect((0..<500).allSatisfy { _ in signers.mayVerify(garbage, for: eve, now: start) }, "it is no chain")
        #expect((0..<500).allSatisfy { _ in signers.mayVerify(token, for: .backend(keyID: "shop"), now: start) })
    }
}

@Suite("How many refusals are written")
struct RefusalPaceTests {
    private let start = Instant(seconds: 1_000_000)

    @Test("Single refusals are kept whole; in a flood, one row a second is kept, and its checks once in ten seconds")
    func pace() {
        let pace = RefusalRateLimit()
        let first = (0..<200).map { _ in pace.detail(of: "user:eve", now: start) }
        #expect(first.filter { $0 == .rowAndRecord }.count == 5)
        #expect(first.filter { $0 == .row }.count == 45)
        #expect(pace.detail(of: "user:ann", now: start) == .rowAndRecord, "another caller has a pace of its own")
        #expect(pace.detail(of: "user:eve", now: start.adding(seconds: 1)) == .row)
        #expect(pace.detail(of: "user:eve", now: start.adding(seconds: 1)) == .nothing)
        #expect(pace.detail(of: "user:eve", now: start.adding(seconds: 10)) == .rowAndRecord)
    }

    @Test("All unauthenticated clients together get four times the pace of one")
    func anonymous() {
        let pace = RefusalRateLimit()
        let stored = (0..<1_000).map { pace.detail(ofAnonymous: "198.51.100.\($0 % 100)", now: start) }
        #expect(stored.filter { $0 != .nothing }.count == 200)
        #expect(stored.filter { $0 == .rowAndRecord }.count == 20)
        #expect(pace.detail(of: "user:ann", now: start) == .rowAndRecord, "no stranger takes it from a customer")
    }
}

import Testing
import TillHTTP
import TillLedger

@testable import TillServer

@Suite("Ids that callers send (issue 20)") struct RequestIDTests {
    @Test(
        "A short id of plain characters is taken over",
        arguments: [
            "1", "9d1c2f0e-7a55-4c0b-9a39-6f1f0d2b8c11", "Root=1-67891233-abcdef012345678912345678", "a.b:c/d+e_f@g",
        ])
    func accepted(_ id: String) { #expect(RequestTrace.accepted(requestID: id) == id) }

    @Test(
        "Any other id is ignored",
        arguments: [
            "", " ", "a b", "a\nb", "a\"b", "a\\b", "é", "\u{1B}[2J", "{}", "a,b", String(repeating: "a", count: 129),
        ])
    func ignored(_ id: String) { #expect(RequestTrace.accepted(requestID: id) == nil) }

    @Test("The trace id of a valid traceparent is taken over, of a later version too")
    func trace() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        #expect(RequestTrace.traceID(ofParent: "00-\(id)-00f067aa0ba902b7-01") == id)
        #expect(RequestTrace.traceID(ofParent: "01-\(id)-00f067aa0ba902b7-01-more") == id)
    }

    @Test(
        "A traceparent that breaks the rules of W3C Trace Context is ignored",
        arguments: [
            "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473\n-00f067aa0ba902b7-01", "00--00f067aa0ba902b7-01",
        ])
    func badTrace(_ text: String) { #expect(RequestTrace.traceID(ofParent: text) == nil) }

    @Test("An address is shortened to its network before it is logged")
    func networks() {
        func shortened(_ client: String) -> String {
            HTTPRequest(method: .get, path: "/", client: client).clientNetworkForLogs
        }
        #expect(shortened("203.0.113.77") == "203.0.113.0/24")
        #expect(shortened("::ffff:203.0.113.77") == "203.0.113.0/24")
        #expect(shortened("2001:db8:7:8:9::1") == "2001:db8:7::/48")
        #expect(shortened("") == "" && shortened("not an address") == "")
    }
}

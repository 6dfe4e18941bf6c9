import Testing
import TillAppStore
import TillBilling

@testable import TillServer

@Suite("The desk that answers verifyReceipt")
struct ReceiptDeskTests {
    @Test("Not more bytes are worked on at once than the limit; a request alone is always taken")
    func room() throws {
        let trust = AppleTrust(bundleID: "com.example.learn", appAppleID: nil, environments: [.sandbox])
        let desk = try ReceiptDesk(trust: trust) { Instant(seconds: 0) }
        #expect(desk.begin(ReceiptDesk.byteLimit))
        #expect(!desk.begin(1))
        desk.end(ReceiptDesk.byteLimit)
        #expect(desk.begin(1) && desk.begin(ReceiptDesk.byteLimit - 1) && !desk.begin(1))
        desk.end(1)
        #expect(desk.begin(1))
    }

    @Test("What our endpoint can be sent, it has room for")
    func limits() {
        #expect(Server.receiptBodyLimit <= ReceiptDesk.byteLimit)
    }
}

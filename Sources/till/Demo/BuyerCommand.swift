import TillAPI
import TillAppStore
import TillBilling
import TillClient
import TillHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Command {
    /// `till demo-buyer`: a buyer's app as a process of its own, for the demo, which kills it. It reads its papers from
    /// the first line of stdin, writes an event a line, and ends when stdin does.
    static let demoBuyer = Command(
        "demo-buyer",
        summary: Text(en: "a buyer of the demo, as a process that can be killed", zh: "演示用的买家进程，可以被强行终止"),
        isHidden: true
    ) { call in
        guard let line = readLine(), let papers = try? JSONDecoder().decode(BuyerPapers.self, from: Data(line.utf8))
        else {
            throw CommandFailure(
                Text(en: "no papers on stdin; `till demo` starts this", zh: "标准输入中没有参数；应由 “till demo” 启动"))
        }
        let fetch = try Fetch()
        defer { fetch.stop() }
        let tell: @Sendable (JSONValue) -> Void = { call.console.print($0.encoded()) }
        do {
            let device = try BuyerDevice(
                papers, fetch: fetch, transport: .holding(Transport(fetch), tell: tell), process: call.process)
            switch papers.wish {
            case .buyAndHold: try await device.buy(tell)
            case .relaunch: await device.relaunch(tell)
            }
        } catch let fault as JournalFault {
            throw CommandFailure(fault.sentence)
        } catch let fault as PurchaseFault {
            throw CommandFailure(fault.sentence)
        }
        return .done
    }
}

extension Transport {
    /// Says so and waits for a line on stdin before the first proof leaves: by then the order is *ongoing* on disk.
    fileprivate static func holding(_ transport: Transport, tell: @escaping @Sendable (JSONValue) -> Void) -> Transport
    {
        Transport { (request) async throws(TransportFault) -> TransportResponse in
            if request.url.hasSuffix(Paths.transactions) {
                tell(["event": "holding"])
                // Waiting blocks a thread of this process, which has nothing else to do.
                if readLine() == nil { throw TransportFault(.other, "nobody wants the answer any more") }
            }
            return try await transport.send(request)
        }
    }
}

extension BuyerDevice {
    fileprivate func buy(_ tell: (JSONValue) -> Void) async throws {
        let entry = try await purchase.prepare(ProductID(papers.product), price: nil)
        tell(["event": "prepared", "orderId": .string(entry.id.description)])
        let transaction = try await pay(entry)
        tell(["event": "paid", "transactionId": .string(transaction.id.text)])
        tell(Self.event(await submit(transaction), transaction.id))
    }

    fileprivate func relaunch(_ tell: (JSONValue) -> Void) async {
        let entries = await journal.entries()
        tell([
            "event": "launched", "orders": .int(Int64(entries.count)),
            "ongoing": .int(Int64(entries.filter { $0.status == .ongoing }.count)),
        ])
        for (id, outcome) in await retry.resubmit(on: .launch).outcomes { tell(Self.event(outcome, id)) }
    }

    private static func event(_ outcome: SubmitOutcome, _ id: TransactionID) -> JSONValue {
        ["event": "settled", "transactionId": .string(id.text), "outcome": .string(outcome.word)]
    }
}

extension SubmitOutcome {
    /// The server's word, or why there is none.
    var word: String {
        switch self {
        case .completed(let reply): reply.outcome.rawValue
        case .refunded: SubmitProofReply.Outcome.revoked.rawValue
        case .willArrive(let trouble, _), .refused(let trouble): trouble.code
        }
    }
}

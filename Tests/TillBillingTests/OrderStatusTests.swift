import Testing
import TillBilling

@Suite("The statuses of an order") struct OrderStatusTests {
    /// A row for each status, with the legal next statuses after the arrow (L6, T3, DESIGN §4 invariant 5).
    static let table = """
        prepared  -> ongoing completed cancelled failed deferred
        completed -> refunded
        ongoing   -> completed refunded
        cancelled -> ongoing
        failed    -> ongoing
        deferred  -> ongoing completed cancelled failed
        refunded  -> completed
        """

    @Test("Exactly the legal moves are allowed (L6)") func moves() throws {
        for row in Self.table.split(separator: "\n") {
            let words = row.split(separator: " ").map(String.init)
            let from = try #require(OrderStatus(name: words[0]))
            let legal = Set(words.dropFirst(2).compactMap(OrderStatus.init(name:)))
            #expect(legal.count == words.count - 2)
            for to in OrderStatus.allCases {
                #expect(from.mayMove(to: to) == legal.contains(to), "\(from.name) to \(to.name)")
            }
        }
    }

    @Test("The codes of the five statuses are those of the articles, then deferred and refunded (L6)") func codes() {
        #expect(
            OrderStatus.allCases.map { "\($0.rawValue) \($0.name) \($0.title(of: .topUp).zh)" } == [
                "0 prepared 待充值", "1 completed 充值完成", "2 ongoing 充值中", "3 cancelled 充值取消", "4 failed 充值失败",
                "5 deferred 等待批准", "6 refunded 已退款",
            ])
    }

    @Test("Only points are topped up: a subscription becomes active, and an unknown product is neither (L6)")
    func kinds() {
        #expect(
            OrderStatus.allCases.map { $0.title(of: .access).zh } == [
                "待付款", "已开通", "开通中", "已取消", "开通失败", "等待批准", "已退款",
            ])
        for kind in [PurchaseKind.access, nil] {
            #expect(OrderStatus.allCases.allSatisfy { !$0.title(of: kind).zh.contains("充值") })
        }
    }

    @Test("A cancelled or failed order that is paid after all goes through ongoing to completed (T3)") func revived() {
        #expect(OrderStatus.cancelled.way(to: .completed) == [.ongoing, .completed])
        #expect(OrderStatus.failed.way(to: .completed) == [.ongoing, .completed])
        #expect(OrderStatus.prepared.way(to: .completed) == [.completed])
    }

    @Test("A completed order never fails (invariant 5)") func completedNeverFails() {
        #expect(OrderStatus.completed.way(to: .failed) == nil)
        #expect(OrderStatus.completed.way(to: .cancelled) == nil)
        #expect(OrderStatus.refunded.way(to: .failed) == nil)
    }
}

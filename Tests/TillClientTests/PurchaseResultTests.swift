import Foundation
import Testing
import TillAPI
import TillBilling

@testable import TillClient

@Suite("What a purchase returns or throws")
struct PurchaseResultTests {
    /// What the customer, the store or the server does.
    enum Story: String, CaseIterable {
        case forbidden, signedOut, unsold, storeAway, serverAway, refusedOrder, storeFails, refusedProof, refunded
        case diskFull, quantity

        /// Whether the payment may have been made.
        var mayBePaid: Bool { self == .refusedProof || self == .refunded }
    }

    /// What the thrown error has.
    private struct Expected {
        let code: TillError.Code
        let isRetryable: Bool
        var hasOrder = false
        var requestID: String?
        var underlying: String?
        let zh: String
    }

    private static func expected(_ story: Story) -> Expected {
        switch story {
        case .forbidden:
            Expected(
                code: .paymentsNotAllowed, isRetryable: false, zh: "此设备不允许购买。请在“设置”的“屏幕使用时间”中开启，或联系设备管理者。")
        case .signedOut: Expected(code: .notSignedIn, isRetryable: true, zh: "请先登录，然后重试。")
        case .unsold:
            Expected(
                code: .productUnavailable, isRetryable: false, zh: "App Store 目前不提供此商品。请选择其他商品，或稍后再试。")
        case .storeAway:
            Expected(code: .productListUnavailable, isRetryable: true, zh: "商品列表暂时不可用，请检查网络后重试。")
        case .serverAway:
            Expected(
                code: .offline, isRetryable: true, hasOrder: true, underlying: "TransportError", zh: "设备当前无网络连接，请联网后重试。"
            )
        case .refusedOrder:
            Expected(
                code: .init(rawValue: "unknown_product"), isRetryable: false, hasOrder: true, requestID: "r-1",
                zh: "此商品已下架，请重新打开商店选择其他商品。")
        case .storeFails:
            Expected(
                code: .init(rawValue: "store_payment_invalid"), isRetryable: false, hasOrder: true,
                underlying: "NSError", zh: "App Store 未接受此次购买。请更新 App 后重试。")
        case .refusedProof:
            Expected(
                code: .init(rawValue: "wrong_app"), isRetryable: false, hasOrder: true,
                zh: PendingReason(code: "wrong_app", isFinal: true).sentence.zh)
        case .refunded: Expected(code: .refunded, isRetryable: false, hasOrder: true, zh: "此次购买已退款；如仍需要，请重新购买。")
        case .diskFull:
            Expected(
                code: .diskFull, isRetryable: true, underlying: "DiskError",
                zh: StoreSentences.rows(StoreSentences.journal).first { $0.code == "disk_full" }?.zh ?? "")
        case .quantity:
            Expected(code: .init(rawValue: "quantity_not_allowed"), isRetryable: false, zh: "请选择 1 到 10 之间的数量。")
        }
    }

    private func begin(_ story: Story, _ world: PretendWorld) {
        func answer(_ answer: Result<TransportResponse, TransportError>) {
            world.shop.withLock { $0.onSheet = { world.state.withLock { $0.answers = [answer] } } }
        }
        switch story {
        case .forbidden: world.shop.withLock { $0.canPay = false }
        case .unsold: world.shop.withLock { $0.sells = ["points.300"] }
        case .storeAway: world.shop.withLock { $0.error = .network(.offline) }
        case .serverAway: world.state.withLock { $0.isAway = true }
        case .refusedOrder: world.state.withLock { $0.answers = [.success(PretendWorld.problem(.unknownProduct, 422))] }
        case .storeFails:
            let problem = AppStoreError(.paymentInvalid, underlying: NSError(domain: "SKErrorDomain", code: 3))
            world.shop.withLock { $0.sheets = [.fail(problem)] }
        case .refusedProof: answer(.success(PretendWorld.problem(.wrongApp, 422)))
        case .refunded:
            let reply = SubmitProofReply(
                outcome: .revoked, transactionId: "\(world.shop.now.lastTransaction + 1)", finish: true)
            answer(.success(PretendWorld.json(200, reply)))
        case .diskFull: world.file.state.withLock { $0.capacity = 0 }
        case .signedOut, .quantity: break
        }
    }

    @Test(
        "A failed purchase throws an error with a code, the order, the request and the error below it",
        arguments: Story.allCases)
    func errors(_ story: Story) async throws {
        let world = PretendWorld()
        let store = try await world.launch(story == .signedOut ? nil : "ann")
        begin(story, world)
        var options = PurchaseOptions()
        if story == .quantity { options.quantity = 11 }
        let expected = Self.expected(story)
        do throws(TillError) {
            let result = try await store.purchase("points.60", options: options)
            Issue.record("\(result)")
        } catch {
            #expect(error.code == expected.code && error.isRetryable == expected.isRetryable, "\(error)")
            #expect((error.orderID != nil) == expected.hasOrder && error.requestID == expected.requestID)
            #expect(error.underlying.map { "\(type(of: $0))" } == expected.underlying)
            #expect(error.message(in: "zh-Hans-CN") == expected.zh + (story.mayBePaid ? "" : "本次未扣款。"))
            #expect(error.message(in: "en") != expected.zh && error.message(in: "fr") == error.message(in: "en"))
            if let id = error.orderID { #expect(await store.orders().map(\.orderID) == [id]) }
        }
        await world.end(store)
    }

    @Test("A paid purchase that waits has the reason, its order and the error of the network")
    func waits() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { shop in
            shop.onSheet = { world.state.withLock { $0.answers = [.failure(TransportError(.timedOut))] } }
        }
        let result = try await store.purchase("points.60")
        guard case .deliveryPending(let order, let reason) = result else { throw Unexpected("\(result)") }
        #expect(order.status == .ongoing && order.canResubmit && result.order == order)
        #expect(reason.code.rawValue == "timed_out" && reason.isRetryable && reason.orderID == order.orderID)
        #expect(reason.message(in: "zh") == order.note(in: "zh") && reason.message(in: "en") == order.note(in: "en"))
        // Without a proof that can be sent again, the reason is the general one.
        let shown = try PurchaseOutcome.deliveryPending(order, nil).result()
        #expect(shown == .deliveryPending(order, reason: TillError(.undelivered(.accepted), order: order.uuid)))
        await world.end(store)
    }

    @Test("Every other end of a purchase is a result with its order; a second tap begins none")
    func results() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.pay, .cancel, .askToBuy] }
        let completed = try await store.purchase("points.60")
        world.wait(seconds: 1)
        let cancelled = try await store.purchase("points.60")
        world.wait(seconds: 1)
        let deferred = try await store.purchase("points.60")
        guard case .completed(let paid) = completed, case .cancelled(let closed) = cancelled,
            case .deferred(let asked) = deferred
        else { throw Unexpected("\(completed) \(cancelled) \(deferred)") }
        #expect([paid, closed, asked].map(\.status) == [.completed, .cancelled, .deferred])
        #expect(await store.orders().map(\.id) == [asked, closed, paid].map(\.orderID))

        let (gate, open) = AsyncStream<Void>.makeStream()
        world.shop.withLock { shop in shop.onSheet = { for await _ in gate { break } } }
        async let first = store.purchase("points.300")
        #expect(await world.sees { world.shop.now.sheetsShown.count == 4 })
        let second = try await store.purchase("points.300")
        #expect(second == .inProgress && second.order == nil)
        open.finish()
        guard case .completed = try await first else { throw Unexpected("not completed") }
        await world.end(store)
    }

    @Test("Sending an order again returns its status, and throws for an order that is unknown or can't be paid")
    func resubmit() async throws {
        let world = PretendWorld()
        let store = try await world.launch()
        world.shop.withLock { $0.sheets = [.pay, .fail(.paymentInvalid)] }
        let result = try await store.purchase("points.60")
        let paid = try #require(result.order)
        #expect(try await store.resubmit(orderID: paid.orderID.uppercased()) == .completed(paid))
        for number in ["", "60", UniqueID(high: 1, low: 1).description] {
            await #expect(throws: TillError(.unknownOrder)) { try await store.resubmit(orderID: number) }
        }
        let failed = try #require(await store.buy("points.60").order)
        do throws(TillError) {
            let again = try await store.resubmit(orderID: failed.orderID)
            Issue.record("\(again)")
        } catch {
            #expect(error.orderID == failed.orderID && !error.isRetryable)
        }
        await world.end(store)
    }

    @Test("Errors that programs can't tell apart are equal, and work as keys")
    func equal() {
        let one = TillError(.store(AppStoreError(.unknown, underlying: URLError(.timedOut))))
        let other = TillError(.store(.unknown))
        #expect(one == other && Set([one, other]).count == 1 && one.underlying != nil && other.underlying == nil)
        #expect(one != TillError(.store(.unknown), order: UniqueID(high: 1, low: 1)))
        #expect(one != TillError(.notSignedIn))
    }
}

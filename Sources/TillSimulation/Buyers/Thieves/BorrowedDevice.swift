import TillAppStore
import TillBilling

/// Names another customer's device: without an order id in Apple's signature, the server uses an order created on the
/// device that submits the purchase.
final class BorrowedDevice: Thief, @unchecked Sendable {
    private var laid: Set<String> = []

    init(_ resources: Resources) { super.init(.borrowedDevice, resources) }

    override func live(pace: Int64, while isRunning: @escaping @Sendable () -> Bool) async {
        await scheduler.pause(random.between(1_000, 60_000))
        while isRunning() {
            // Creates orders for every device and product before the device's owner buys.
            for device in stolen.devices where laid.insert(device.id).inserted {
                for product in Self.products { await lay(product, device.id) }
            }
            await act()
            await scheduler.pause(random.between(pace / 10, pace))
        }
    }

    private func lay(_ product: String, _ device: String) async {
        resources.thefts.record(kind, "\(user): an order for \(product) on \(device)")
        await openOwnOrder(product, device: device)
    }

    override func act() async {
        let proofs = stolen.purchases.filter { $0.hasNoToken && $0.signed != nil }
        if let proof = pick(proofs), let signed = proof.signed, let device = proof.device, random.chance(0.7) {
            await attempt(
                "\(proof.owner)'s proof from \(device)", "/v1/transactions",
                ["signedTransaction": .string(signed), "deviceId": .string(device)])
        } else if let device = pick(stolen.devices) {
            await lay(random.pick(Self.products), device.id)
        }
    }
}

import TillBilling

/// For which device a plan is that was paid without an order of its own.
extension SettlementBooks {
    /// Its customer's word, or the order's whose id the token is. What others say beside a proof decides nothing.
    func device(of user: UserID) throws -> DeviceID? {
        if try isSaid(by: user) { return origin.device }
        return tokenOrder.flatMap { $0.userID == user && $0.productID == transaction.productID ? $0.deviceID : nil }
    }

    /// Whether the proof names a device, and its plan is for one that no order has named.
    func isDeviceMissing(_ facts: SettlementFacts) throws -> Bool {
        guard origin.device != nil, facts.product.flatMap({ Plan(soldBy: $0) })?.scope == .device,
            let sequence = stored?.orderSequence
        else { return false }
        return try orders.find(sequence: sequence)?.order.deviceID == nil
    }

    /// Names the device of a granted plan that has none yet, once, as soon as its customer brings it from there.
    func nameDevice(of grant: Grant, _ facts: SettlementFacts) throws {
        guard try isDeviceMissing(facts), try isSaid(by: grant.userID), let device = origin.device,
            let stored, let sequence = stored.orderSequence
        else { return }
        try orders.name(device, of: sequence)
        try note(
            stored.sequence, "device_named", ground: "brought_from_device", detail: EvidenceText.value(device.text))
    }

    private func isSaid(by user: UserID) throws -> Bool {
        switch origin.caller {
        case .backend: true
        case .user(let caller): try caller == user || guests.account(of: caller) == guests.account(of: user) ?? user
        case .apple: false
        }
    }
}

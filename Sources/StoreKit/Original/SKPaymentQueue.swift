import Foundation

open class SKPaymentQueue: NSObject, @unchecked Sendable {
    let session: DeviceSession

    init(session: DeviceSession) { self.session = session }
}

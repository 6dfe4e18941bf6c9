import Foundation
import StoreKit
import Testing

@Suite("The device of a process")
struct DeviceTests {
    @Test("The current device is the same one as long as nobody says otherwise")
    func current() {
        #expect(EmulatedDevice.current === EmulatedDevice.current)
    }
}

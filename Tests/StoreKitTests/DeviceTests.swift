import Foundation
import StoreKit
import Testing

@Suite("The device of a process")
struct DeviceTests {
    @Test("The current device stays the same until another is set")
    func current() {
        #expect(EmulatedDevice.current === EmulatedDevice.current)
    }
}

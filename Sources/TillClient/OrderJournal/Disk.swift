import TillBilling

/// The device's disk as the journal sees it: one file, and every change on stable storage before a call returns.
package struct Disk: Sendable {
    /// All of the file; empty if there is none yet.
    package var read: @Sendable () throws(DiskFault) -> [UInt8]
    /// Writes the bytes at the offset and drops whatever was beyond them.
    package var write: @Sendable (_ bytes: [UInt8], _ offset: Int) throws(DiskFault) -> Void
    /// Puts a new file in the old one's place: after a power cut there is one or the other, whole.
    package var replace: @Sendable ([UInt8]) throws(DiskFault) -> Void
    /// Keeps a copy of the file as it is, under another name, for those who will ask what happened to it.
    package var setAside: @Sendable () throws(DiskFault) -> Void

    package init(
        read: @escaping @Sendable () throws(DiskFault) -> [UInt8],
        write: @escaping @Sendable ([UInt8], Int) throws(DiskFault) -> Void,
        replace: @escaping @Sendable ([UInt8]) throws(DiskFault) -> Void,
        setAside: @escaping @Sendable () throws(DiskFault) -> Void
    ) {
        self.read = read
        self.write = write
        self.replace = replace
        self.setAside = setAside
    }
}

/// Why the disk did not do what it was asked to.
public struct DiskFault: Error, Hashable, Sendable {
    /// What stands in the way.
    public enum Kind: String, Hashable, Sendable {
        /// There is no room left.
        case full = "disk_full"
        /// The app may not write there.
        case notAllowed = "disk_not_allowed"
        /// Another running instance of the app holds the journal.
        case inUse = "disk_in_use"
        /// Anything else; `number` says what.
        case other = "disk_fault"
    }

    /// What stands in the way.
    public let kind: Kind
    /// The system's error number; 0 if there is none.
    public let number: Int32

    package init(_ kind: Kind, number: Int32 = 0) {
        self.kind = kind
        self.number = number
    }

    /// Whether the same write may succeed later without anybody repairing the device.
    public var isRetryable: Bool { kind == .full || kind == .inUse }

    /// What the buyer is told.
    public var sentence: Text {
        switch kind {
        case .full:
            Text(
                en: "The device's storage is full. Free some space and try again.", zh: "设备存储空间已满。请清理空间后重试。")
        case .notAllowed:
            Text(
                en: "The app may not write to its own storage. Restart the device and try again.",
                zh: "App 无法写入自身的存储空间。请重启设备后重试。")
        case .inUse:
            Text(
                en: "The app is already running elsewhere on this device. Close it there first.",
                zh: "此 App 正在本设备的另一处运行，请先将其关闭。")
        case .other:
            Text(
                en: "The device's storage reports an error. Restart the device and try again.",
                zh: "设备存储出现错误。请重启设备后重试。")
        }
    }
}

import TillBilling

/// The device's disk for one file. Every change is on stable storage before the call returns.
package struct Disk: Sendable {
    /// Reads the whole file; empty if it does not exist yet.
    package var read: @Sendable () throws(DiskError) -> [UInt8]
    /// Writes the bytes at the offset and truncates the file after them.
    package var write: @Sendable (_ bytes: [UInt8], _ offset: Int) throws(DiskError) -> Void
    /// Replaces the file atomically: after a power cut, either the old or the new file exists, complete.
    package var replace: @Sendable ([UInt8]) throws(DiskError) -> Void
    /// Copies the current file under another name, for diagnosis.
    package var setAside: @Sendable () throws(DiskError) -> Void

    package init(
        read: @escaping @Sendable () throws(DiskError) -> [UInt8],
        write: @escaping @Sendable ([UInt8], Int) throws(DiskError) -> Void,
        replace: @escaping @Sendable ([UInt8]) throws(DiskError) -> Void,
        setAside: @escaping @Sendable () throws(DiskError) -> Void
    ) {
        self.read = read
        self.write = write
        self.replace = replace
        self.setAside = setAside
    }
}

/// An error of the device's disk.
package struct DiskError: Error, Hashable, Sendable {
    /// The kind of error.
    package enum Kind: String, Hashable, Sendable {
        /// The disk is full.
        case full = "disk_full"
        /// The app has no permission to write.
        case notAllowed = "disk_not_allowed"
        /// Another running instance of the app has the journal open.
        case inUse = "disk_in_use"
        /// Any other error; see `number`.
        case other = "disk_fault"
    }

    /// The kind of error.
    package let kind: Kind
    /// The system's error number; 0 if there is none.
    package let number: Int32

    package init(_ kind: Kind, number: Int32 = 0) {
        self.kind = kind
        self.number = number
    }

    /// A Boolean value that indicates whether the same write may succeed later without a repair of the device.
    package var isRetryable: Bool { kind == .full || kind == .inUse }

    /// A message for the buyer.
    package var sentence: LocalizedText {
        switch kind {
        case .full:
            LocalizedText(
                en: "The device's storage is full. Free some space and try again.", zh: "设备存储空间已满。请清理空间后重试。")
        case .notAllowed:
            LocalizedText(
                en: "The app may not write to its own storage. Restart the device and try again.",
                zh: "App 无法写入自身的存储空间。请重启设备后重试。")
        case .inUse:
            LocalizedText(
                en: "The app is already running elsewhere on this device. Close it there first.",
                zh: "此 App 正在本设备的另一处运行，请先将其关闭。")
        case .other:
            LocalizedText(
                en: "The device's storage reports an error. Restart the device and try again.",
                zh: "设备存储出现错误。请重启设备后重试。")
        }
    }
}

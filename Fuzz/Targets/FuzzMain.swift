// The entry points of libFuzzer. One program serves every target; the name under which it is started selects the
// target.

import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Created for the first input; libFuzzer calls on one thread.
private let program = Program()

private struct Program {
    let target: FuzzTarget?
    let bench: FuzzBench
    let planted: Planted?

    init() {
        let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
        let folder = ProcessInfo.processInfo.environment["TILL_FUZZ_FOLDER"] ?? "Fuzz"
        target = FuzzTarget(rawValue: name)
        planted = Planted(rawValue: name)
        do {
            bench = try FuzzBench(folder: URL(fileURLWithPath: folder))
        } catch {
            Program.end("cannot begin: \(error)", code: 2)
        }
        guard target != nil || planted != nil else { Program.end("'\(name)' is no target", code: 2) }
    }

    func check(_ input: [UInt8]) {
        do throws(PropertyError) {
            try target?.check(input, bench)
            try planted?.check(input)
        } catch {
            fatalError("\(error)")
        }
    }

    static func end(_ words: String, code: Int32) -> Never {
        FileHandle.standardError.write(Data("\(words)\n".utf8))
        exit(code)
    }
}

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> Int32 {
    let words = CommandLine.arguments
    guard words.count == 3, words[1] == "--write-seeds" else { return 0 }
    do {
        try SeedCorpus().write(to: URL(fileURLWithPath: words[2]))
    } catch {
        Program.end("\(error)", code: 1)
    }
    exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    program.check(input)
    return CorpusFilter.isKept(input, program.target) ? 0 : -1
}

/// Half of the time, receipts are altered as trees; otherwise, and for all other inputs, the bytes are altered.
@_cdecl("LLVMFuzzerCustomMutator")
public func customMutator(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32) -> Int {
    let isReceipt = program.target == .receipt || program.planted != nil
    if isReceipt, seed % 2 == 0, count > 0 {
        let input = Array(UnsafeBufferPointer(start: bytes, count: count))
        if let altered = ReceiptMutator.altered(input, limit: limit, seed: seed) {
            _ = UnsafeMutableBufferPointer(start: bytes, count: limit).update(fromContentsOf: altered)
            return altered.count
        }
    }
    return mutate(bytes, count, limit)
}

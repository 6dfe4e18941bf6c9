import Foundation
import Testing

@Suite("How programs are linked") struct HardeningTests {
    @Test(
        "Every program binds its symbols at its start and keeps their table read-only (full RELRO)",
        arguments: ["till", "learnpoints", "cloudplans", "game"])
    func fullRELRO(_ name: String) throws {
        let program = TillProcess.programs.appendingPathComponent(name)
        try #require(FileManager.default.fileExists(atPath: program.path), "\(name) is not built")
        let file = try ELF(Data(contentsOf: program))
        #expect(file.hasReadOnlyRelocations, "PT_GNU_RELRO is missing")
        #expect(file.bindsNow, "neither DF_BIND_NOW nor DF_1_NOW is set")
    }
}

/// The part of a 64-bit little-endian ELF file that describes how it is loaded.
private struct ELF {
    private(set) var hasReadOnlyRelocations = false
    private(set) var bindsNow = false

    init(_ file: Data) throws {
        func number(_ offset: Int, _ size: Int) -> Int {
            (0..<size).reduce(0) { $0 | Int(file[file.startIndex + offset + $1]) << (8 * $1) }
        }
        try #require(file.prefix(5).elementsEqual([0x7F, 0x45, 0x4C, 0x46, 2]), "no 64-bit ELF file")
        let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2))
        for header in (0..<count).map({ headers + $0 * size }) {
            switch number(header, 4) {
            case 0x6474_E552: hasReadOnlyRelocations = true
            case 2:
                // PT_DYNAMIC: pairs of a tag and a value.
                let start = number(header + 8, 8)
                for entry in stride(from: start, to: start + number(header + 32, 8), by: 16) {
                    let (tag, value) = (number(entry, 8), number(entry + 8, 4))
                    let isNow = tag == 24 || (tag == 30 && value & 8 != 0) || (tag == 0x6FFF_FFFB && value & 1 != 0)
                    if isNow { bindsNow = true }
                }
            default: break
            }
        }
    }
}

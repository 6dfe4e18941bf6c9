import CTillZlib

/// Compresses short texts that resemble a dictionary, as raw deflate (RFC 1951). One thread uses it at a time.
public final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private let dictionary: [UInt8]

    /// - Parameter dictionary: at most 4 KiB; what the texts have most often at its end.
    public init(dictionary: [UInt8]) throws(CompressionError) {
        precondition(dictionary.count <= 1 << Deflate.windowBits, "the window holds the dictionary")
        self.dictionary = dictionary
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard till_deflate_init(stream, Deflate.level, Deflate.windowBits, Deflate.memoryLevel) == Z_OK else {
            stream.deallocate()
            throw .noMemory
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    public func compress(_ bytes: [UInt8]) throws(CompressionError) -> [UInt8] {
        guard deflateReset(stream) == Z_OK,
            deflateSetDictionary(stream, dictionary, UInt32(dictionary.count)) == Z_OK
        else { throw .noMemory }
        let bound = Int(deflateBound(stream, UInt(bytes.count)))
        var status = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib does not write through `next_in`.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                status = deflate(stream, Z_FINISH)
            }
            count = bound - Int(stream.pointee.avail_out)
        }
        guard status == Z_STREAM_END else { throw .noMemory }
        return output
    }
}

/// Restores what a `Deflater` with the same dictionary compressed. One thread uses it at a time.
public final class Inflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private let dictionary: [UInt8]

    public init(dictionary: [UInt8]) throws(CompressionError) {
        precondition(dictionary.count <= 1 << Deflate.windowBits, "the window holds the dictionary")
        self.dictionary = dictionary
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard till_inflate_init(stream, Deflate.windowBits) == Z_OK else {
            stream.deallocate()
            throw .noMemory
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// - Parameters:
    ///   - bytes: all of them belong to the compressed text.
    ///   - limit: how many bytes the text has at most. No more is ever allocated.
    public func decompress(_ bytes: ArraySlice<UInt8>, limit: Int) throws(CompressionError) -> [UInt8] {
        guard inflateReset(stream) == Z_OK,
            inflateSetDictionary(stream, dictionary, UInt32(dictionary.count)) == Z_OK
        else { throw .noMemory }
        var status = Z_BUF_ERROR
        var output: [UInt8] = []
        bytes.withUnsafeBufferPointer { input in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(input.count)
            var size = min(limit, max(1_024, input.count * 8))
            repeat {
                let piece = [UInt8](unsafeUninitializedCapacity: size) { room, count in
                    stream.pointee.next_out = room.baseAddress
                    stream.pointee.avail_out = UInt32(room.count)
                    let room = room.count
                    status = inflate(stream, Z_NO_FLUSH)
                    count = room - Int(stream.pointee.avail_out)
                }
                output += piece
                size = min(limit - output.count, output.count)
                // A full piece and no error: there may be more.
            } while status == Z_OK && stream.pointee.avail_out == 0 && size > 0
        }
        guard status == Z_STREAM_END, stream.pointee.avail_in == 0 else {
            throw output.count >= limit ? .tooLong : .damaged
        }
        return output
    }
}

enum Deflate {
    static let level: Int32 = 9
    /// A window of 4 KiB holds a dictionary and a text like it; a larger one makes nothing smaller here.
    static let windowBits: Int32 = 12
    /// Small tables, because they are cleared for each text.
    static let memoryLevel: Int32 = 5
}

public enum CompressionError: Error, Sendable, Hashable {
    case noMemory
    /// These bytes are not one whole compressed text.
    case damaged
    /// The text is longer than allowed.
    case tooLong
}

/// CRC-32 of ISO 3309, as in gzip.
public enum CRC32 {
    public static func checksum(_ parts: [UInt8]...) -> UInt32 {
        UInt32(truncatingIfNeeded: parts.reduce(crc32(0, nil, 0)) { crc32($0, $1, UInt32($1.count)) })
    }
}

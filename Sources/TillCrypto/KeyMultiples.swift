import CTillOpenSSL

/// A table of a P-256 key's multiples, as OpenSSL has one for the curve's generator. With it, a signature is checked in
/// half of the time. Making it costs as much as a hundred checks or more, and it takes 150 kB.
///
/// It only ever accepts: OpenSSL's own check decides what is refused (docs/decisions/0083).
// @unchecked: the groups are read-only after they are made.
final class KeyMultiples: @unchecked Sendable {
    private let curve: OpaquePointer
    /// The same curve with the key as its generator.
    private let keyed: OpaquePointer
    private let inversion: Inversion

    /// Nil if OpenSSL makes no such table.
    init?(of key: PublicKey) {
        guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        guard let inversion = Inversion(modulo: EC_GROUP_get0_order(curve)),
            let keyed = Self.group(generatedBy: key, curve)
        else {
            EC_GROUP_free(curve)
            return nil
        }
        (self.curve, self.keyed, self.inversion) = (curve, keyed, inversion)
    }

    deinit {
        EC_GROUP_free(keyed)
        EC_GROUP_free(curve)
    }

    /// The inverse modulo a prime number is the power with the number less two (Fermat). OpenSSL computes that in two
    /// thirds of the time of `BN_mod_inverse`.
    private final class Inversion {
        private let (exponent, montgomery): (OpaquePointer, OpaquePointer)
        private let modulus: OpaquePointer

        /// - Parameter prime: must outlive it.
        init?(modulo prime: OpaquePointer?) {
            guard let prime, let exponent = BN_dup(prime) else { return nil }
            guard let montgomery = BN_MONT_CTX_new(), let context = BN_CTX_new() else {
                BN_free(exponent)
                return nil
            }
            (self.exponent, self.montgomery, modulus) = (exponent, montgomery, prime)
            defer { BN_CTX_free(context) }
            guard BN_sub_word(exponent, 2) == 1, BN_MONT_CTX_set(montgomery, prime, context) == 1 else { return nil }
        }

        deinit {
            BN_MONT_CTX_free(montgomery)
            BN_free(exponent)
        }

        /// Replaces a number, which is not zero, with its inverse.
        func invert(_ number: OpaquePointer, _ context: OpaquePointer) -> Bool {
            BN_mod_exp_mont(number, number, exponent, modulus, context, montgomery) == 1
        }
    }

    /// Every point except infinity generates the curve, whose order is a prime number.
    private static func group(generatedBy key: PublicKey, _ curve: OpaquePointer) -> OpaquePointer? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = EVP_PKEY_get1_encoded_public_key(key.handle, &encoded)
        defer { CRYPTO_free(encoded, nil, 0) }
        guard length > 0, let encoded, let group = EC_GROUP_dup(curve), let point = EC_POINT_new(group) else {
            return nil
        }
        defer { EC_POINT_free(point) }
        guard EC_POINT_oct2point(group, point, encoded, length, nil) == 1,
            EC_POINT_is_at_infinity(group, point) == 0,
            EC_GROUP_set_generator(group, point, EC_GROUP_get0_order(curve), BN_value_one()) == 1,
            till_ec_precompute(group, nil) == 1
        else {
            EC_GROUP_free(group)
            return nil
        }
        return group
    }

    /// Whether r‖s (64 bytes) is the key's signature of a SHA-256 digest, by FIPS 186-5 §6.4.2.
    func accepts(_ signature: [UInt8], of digest: UnsafePointer<UInt8>, _ scratch: Scratch) -> Bool {
        guard signature.count == 64 else { return false }
        let (order, context) = (EC_GROUP_get0_order(curve), scratch.context)
        signature.withUnsafeBufferPointer { bytes in
            _ = BN_bin2bn(bytes.baseAddress, 32, scratch.r)
            _ = BN_bin2bn(bytes.baseAddress.map { $0 + 32 }, 32, scratch.s)
        }
        guard BN_is_zero(scratch.r) == 0, BN_is_zero(scratch.s) == 0, BN_cmp(scratch.r, order) < 0,
            BN_cmp(scratch.s, order) < 0, BN_bin2bn(digest, 32, scratch.first) != nil,
            inversion.invert(scratch.s, context),
            BN_mod_mul(scratch.first, scratch.first, scratch.s, order, context) == 1,
            BN_mod_mul(scratch.second, scratch.r, scratch.s, order, context) == 1,
            EC_POINT_mul(curve, scratch.sum, scratch.first, nil, nil, context) == 1,
            EC_POINT_mul(keyed, scratch.part, scratch.second, nil, nil, context) == 1,
            EC_POINT_add(curve, scratch.sum, scratch.sum, scratch.part, context) == 1,
            EC_POINT_is_at_infinity(curve, scratch.sum) == 0,
            EC_POINT_get_affine_coordinates(curve, scratch.sum, scratch.first, nil, context) == 1,
            BN_nnmod(scratch.first, scratch.first, order, context) == 1
        else { return false }
        return BN_cmp(scratch.first, scratch.r) == 0
    }

    /// Numbers and points that one thread at a time computes with.
    final class Scratch {
        fileprivate let context: OpaquePointer
        fileprivate let (r, s, first, second): (OpaquePointer, OpaquePointer, OpaquePointer, OpaquePointer)
        fileprivate let (sum, part): (OpaquePointer, OpaquePointer)

        /// Nil if there is no memory.
        init?(for multiples: KeyMultiples) {
            guard let context = BN_CTX_new(), let r = BN_new(), let s = BN_new(), let first = BN_new(),
                let second = BN_new(), let sum = EC_POINT_new(multiples.curve), let part = EC_POINT_new(multiples.keyed)
            else { return nil }
            self.context = context
            (self.r, self.s, self.first, self.second) = (r, s, first, second)
            (self.sum, self.part) = (sum, part)
        }

        deinit {
            for number in [r, s, first, second] { BN_free(number) }
            EC_POINT_free(sum)
            EC_POINT_free(part)
            BN_CTX_free(context)
        }
    }
}

import CTillOpenSSL

/// UTCTime and GeneralizedTime, the two ways in which certificates and OCSP write a moment.
enum ASN1Time {
    /// Seconds since 1970 in UTC; nil for what is no time.
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        clearingErrors {
            guard let time, let epoch = ASN1_TIME_set(nil, 0) else { return nil }
            defer { ASN1_TIME_free(epoch) }
            var days: Int32 = 0
            var seconds: Int32 = 0
            guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
            return Int64(days) * 86_400 + Int64(seconds)
        }
    }
}

/// The exact sentences of every error. A block has the codes that share them, the English one and the Chinese one. A
/// sentence says what the customer does next, and where money is involved whether anything was paid.
enum StoreSentences {
    /// A code with its sentences.
    struct Row {
        let code: String
        let en: String
        let zh: String
    }

    static func rows(_ table: String) -> [Row] {
        let blocks = table.split(separator: "\n", omittingEmptySubsequences: false).split(whereSeparator: \.isEmpty)
        return blocks.flatMap { block in
            let lines = block.map(String.init)
            return lines[0].split(separator: " ").map { Row(code: String($0), en: lines[1], zh: lines[2]) }
        }
    }

    /// The kit's own errors.
    static let own = """
        signed_out
        Sign in first, then try again.
        请先登录，然后重试。

        quantity_not_allowed
        Choose a quantity from 1 to 10.
        请选择 1 到 10 之间的数量。

        product_unavailable
        The App Store doesn't offer this product right now. Choose another one, or try again later.
        App Store 目前不提供此商品。请选择其他商品，或稍后再试。

        product_list_unavailable
        The product list is unavailable for now. Check the connection and try again.
        商品列表暂时不可用，请检查网络后重试。

        purchase_in_progress
        This product is being bought already. Wait until that is done.
        此商品正在购买中，请等待完成。

        refunded
        This purchase was refunded. Buy it again if you still want it.
        此次购买已退款；如仍需要，请重新购买。

        insecure_server
        The purchase server's address must begin with https://. Set one in TillConfiguration.server; http:// works \
        only for a server on this machine (127.0.0.1, ::1, localhost).
        购买服务器的地址必须使用 HTTPS，请在 TillConfiguration 中修改；HTTP 仅可用于本机上的服务器。

        payments_not_allowed
        Purchases are turned off on this device. Allow them in Settings under Screen Time, or ask the person who \
        manages the device.
        此设备不允许购买。请在“设置”的“屏幕使用时间”中开启，或联系设备管理者。

        unknown_order
        There is no such order. Begin the purchase again.
        没有这个订单，请重新发起购买。
        """

    /// What the store says, and the network to it.
    static let store = """
        store_client_invalid
        This Apple Account can't buy here. Check in Settings that you are signed in to the App Store.
        当前 Apple 账户无法购买。请在“设置”中确认已登录 App Store。

        store_cancelled
        You cancelled the purchase. Tap the product again if you still want it.
        您已取消购买。如仍需要，请再次点按该商品。

        store_payment_invalid
        The App Store did not accept this purchase. Update the app and try again.
        App Store 未接受此次购买。请更新 App 后重试。

        store_payment_not_allowed
        Purchases are turned off on this device. Allow them in Settings under Screen Time, or ask the person who \
        manages the device.
        此设备不允许购买。请在“设置”的“屏幕使用时间”中开启，或联系设备管理者。

        store_product_not_available
        This product is not sold in the country or region of your Apple Account. Choose another one.
        您的 Apple 账户所在国家或地区不提供此商品，请选择其他商品。

        store_privacy_acknowledgement_required
        Apple asks you to agree to its privacy terms first. Open the App Store, agree, and buy again.
        需要先同意 Apple 的隐私条款。请打开 App Store 同意后再购买。

        store_unverified
        The purchase is being checked. Don't buy again yet; if nothing comes within a day, tell support.
        正在核实此次购买，请先不要再次购买；如一天内仍未到账，请联系客服。

        store_later_code
        The App Store answered with an error this app doesn't know (21). We are checking whether you paid; don't buy \
        again yet.
        App Store 返回了此版本 App 未知的错误（21）。正在核对是否已付款，请先不要再次购买。

        store_system
        The system interrupted the purchase (100). We are checking whether you paid; finish what the App Store asks \
        for, and don't buy again yet.
        系统中断了此次购买（100）。正在核对是否已付款，请先完成 App Store 的提示，暂时不要再次购买。

        store_unknown
        We are checking with the App Store whether you paid. Don't buy again yet: if you did, it arrives by itself.
        正在向 App Store 核对是否已付款，请先不要再次购买；如已付款，内容会自动到账。

        store_unauthorized_request_data
        This version of the app may not buy like that. Update the app and try again.
        此版本的 App 无权以这种方式购买，请更新 App 后重试。

        store_invalid_offer_identifier
        This offer is no longer available. Go back to the shop and choose again.
        此优惠已不存在，请返回商店重新选择。

        store_invalid_offer_signature
        This offer could not be confirmed. Open the shop again and try once more.
        无法确认此优惠，请重新打开商店后再试一次。

        store_missing_offer_parameters
        Something is missing from this offer. Update the app, or buy without the offer.
        此优惠的信息不完整。请更新 App，或不使用优惠购买。

        store_invalid_offer_price
        This offer's price has changed. Open the shop again to see the new one.
        此优惠的价格已变动，请重新打开商店查看。

        store_ineligible_for_offer
        This offer is not for your Apple Account, perhaps because it was used before. Buy at the regular price.
        您的 Apple 账户不符合此优惠的条件（可能已使用过），请按原价购买。

        store_invalid_quantity
        The App Store does not sell this quantity at once. Choose 1 to 10.
        App Store 不支持一次购买此数量，请选择 1 到 10。

        store_not_entitled
        This version of the app is not allowed to sell. Get it anew from the App Store.
        此版本的 App 无权销售商品，请从 App Store 重新下载。

        store_unsupported
        This device's system is too old for that. Update it and try again.
        设备的系统版本不支持此操作，请更新系统后重试。

        store_cloud_permission_denied
        The app may not use Apple Music on this device. Allow it in Settings under Privacy.
        此 App 没有使用 Apple Music 的权限，请在“设置”的“隐私”中允许。

        store_cloud_network_failed
        Apple Music can't be reached. Check the connection and try again.
        无法连接 Apple Music，请检查网络后重试。

        store_cloud_revoked
        The permission to use Apple Music was withdrawn. Allow it again in Settings under Privacy.
        使用 Apple Music 的权限已被收回，请在“设置”的“隐私”中重新允许。

        store_overlay_cancelled
        You closed the App Store's banner. Open the page again to see it.
        您已关闭 App Store 横幅。如需查看，请重新打开此页面。

        store_overlay_invalid_configuration
        The App Store's banner can't be shown. Search for the app in the App Store instead.
        无法显示 App Store 横幅，请直接在 App Store 中搜索该 App。

        store_overlay_timeout
        The App Store's banner took too long to load. Try again in a moment.
        App Store 横幅加载超时，请稍后重试。

        store_overlay_in_background
        The App Store's banner can only be shown in front. Come back to the app and try again.
        App Store 横幅只能在前台显示，请回到 App 后重试。

        store_unsupported_platform
        This kind of device can't show the App Store's banner. Open the App Store itself.
        此类设备无法显示 App Store 横幅，请直接打开 App Store。

        store_offline
        This device is offline, so the App Store can't be reached. Connect to the internet and try again.
        设备当前无网络连接，无法访问 App Store。请联网后重试。

        store_cannot_find_server
        The App Store can't be found on this network. Try another network.
        在当前网络中找不到 App Store，请更换网络后重试。

        store_cannot_connect
        The App Store can't be reached right now. Try again in a moment.
        暂时无法连接 App Store，请稍后重试。

        store_timed_out
        The App Store is slow to answer. Wait a moment before you try again: if you paid, it arrives by itself.
        App Store 响应超时。请稍候再试；如已付款，内容会自动到账。

        store_connection_lost
        The connection to the App Store was interrupted. Check the network before you try again: if you paid, it \
        arrives by itself.
        与 App Store 的连接已中断。请检查网络后再试；如已付款，内容会自动到账。

        store_insecure
        No secure connection to the App Store could be made. Check the device's date, and sign in to the Wi-Fi if it \
        asks for that.
        无法与 App Store 建立安全连接。请检查设备日期；如果 Wi-Fi 需要登录，请先登录。

        store_network_fault
        The network failed while talking to the App Store. Wait a moment before you try again: if you paid, it arrives \
        by itself.
        与 App Store 通信时网络出错。请稍候再试；如已付款，内容会自动到账。
        """

    /// What the server says, and the network to it.
    static let server = """
        signed_out
        Sign in first, then try again.
        请先登录，然后重试。

        unreadable_answer
        This response did not come from the server. Try another network, or try again later.
        当前网络返回的内容并非来自服务器。请更换网络，或稍后重试。

        offline
        This device is offline. Connect to the internet and try again.
        设备当前无网络连接，请联网后重试。

        cannot_find_server
        The server can't be found on this network. Try another network, or try again later.
        在当前网络中找不到服务器。请更换网络，或稍后重试。

        cannot_connect
        The server can't be reached right now. Try again in a moment.
        暂时无法连接服务器，请稍后重试。

        timed_out
        The server is slow to answer. Try again in a moment.
        服务器响应超时，请稍后重试。

        connection_lost
        The connection was interrupted. Check the network and try again.
        网络连接已中断，请检查网络后重试。

        network_fault
        The network failed. Check the connection and try again.
        网络出错，请检查网络后重试。

        moon_phase
        The server gave a reason this version of the app doesn't know (moon_phase). Update the app, or tell support.
        服务器给出了此版本 App 未知的原因（moon_phase）。请更新 App 或联系客服。

        insecure
        No secure connection could be made. Check the device's date, and sign in to the Wi-Fi if it asks for that.
        无法建立安全连接。请检查设备日期；如果 Wi-Fi 需要登录，请先登录。

        chain_expired certificate_revoked
        This proof of purchase is out of date. Open the app again so that the App Store sends a new one.
        购买凭证已过期，请重新打开 App 以便从 App Store 获取新的凭证。

        wrong_app
        This purchase was made in another app. Open it there.
        此次购买属于其他 App，请在那个 App 中打开。

        wrong_environment
        This is a test purchase, and this app takes real ones only. Sign in to the App Store with your usual Apple \
        Account.
        这是一笔测试购买，此 App 只接受正式购买。请使用常用的 Apple 账户登录 App Store。

        wrong_device
        The receipt on this device belongs to another one. Restore your purchases to get a new receipt.
        本机的收据属于其他设备，请“恢复购买”以获取新的收据。

        receipt_needs_refresh
        The App Store doesn't accept the receipt on this device. Restore your purchases to get a new receipt.
        App Store 不接受本机的收据，请“恢复购买”以获取新的收据。

        transaction_not_in_receipt transaction_mismatch product_mismatch
        The receipt doesn't show this purchase yet. Restore your purchases, then try again.
        收据中尚未包含此次购买，请“恢复购买”后重试。

        malformed missing_x5c chain_length bad_certificate chain_untrusted missing_oid bad_signature receipt_refused
        This purchase could not be confirmed as one of Apple's. If you did pay, send support your receipt from Apple.
        无法确认此次购买来自 Apple。如确已付款，请将 Apple 的收据发给客服。

        revocation_unknown unavailable
        The server can't do this right now. Nothing is lost; try again later.
        服务器暂时无法处理。没有丢失任何内容，请稍后重试。

        unknown_product
        This product is no longer sold. Open the shop again and choose another one.
        此商品已下架，请重新打开商店选择其他商品。

        unknown_order
        There is no such order. Begin the purchase again.
        没有这个订单，请重新发起购买。

        order_id_unproven
        The signed-in user differs between the app and the server. Sign in again, then buy.
        App 与服务器的登录信息不一致，请重新登录后再购买。

        order_conflict token_in_use
        This order has changed. Begin the purchase again.
        此订单已发生变化，请重新发起购买。

        illegal_move
        This order can't be changed any more. Open the list of orders to see its status.
        此订单的状态已不能更改，请打开订单列表查看。

        preview_changed
        Your plans or the prices changed since this preview. Check the new preview, then buy.
        您的套餐或价格在预览之后发生了变化，请查看新的预览后再购买。

        insufficient_funds
        The balance is too low. Top it up first.
        余额不足，请先充值。

        in_debt
        A refund took back points that were spent already. Top up to pay for them first.
        退款收回了已消费的点数，请先充值补足。

        reference_conflict idempotency_key_reused
        The same request was made before with other contents. Go back and start again.
        相同的请求已提交过且内容不同，请返回后重新操作。

        idempotency_in_flight
        The same request is still being processed. Wait a moment, then try again.
        相同的请求仍在处理，请稍候再试。

        not_auto_renewable
        There is no offer for this product. Buy it at the regular price.
        此商品没有优惠，请按原价购买。

        malformed_json invalid_field not_found method_not_allowed payload_too_large
        The app's version doesn't match the server. Update the app and try again.
        App 与服务器的版本不匹配，请更新 App 后重试。

        unauthorized
        Your sign-in has expired. Sign in again.
        登录已失效，请重新登录。

        forbidden
        You are signed in with an account that may not do this. Sign in with another one.
        当前登录的账户无权进行此操作，请更换账户登录。

        too_many_requests too_many_orders
        That was too often. Wait a minute, then try again.
        操作过于频繁，请等待一分钟后重试。

        bad_root stale_cursor unknown_entitlement unknown_currency undo_expired same_user not_the_owner \
        unknown_transfer not_reversible unknown_transaction not_in_quarantine not_claimable \
        no_in_app_purchase_key unknown_endpoint unknown_event report_unusable unknown_user \
        erasure_unconfirmed no_erasure_key unknown_import import_undone internal_error
        The server has a problem. Nothing is lost; try again later.
        服务器出现问题。没有丢失任何内容，请稍后重试。

        guest_taken
        What was bought here without an account is in another account already. Sign in there, or tell support.
        此前未登录时购买的内容已归入其他账户。请登录那个账户，或联系客服。

        not_a_guest
        What was bought here belongs to another account and stays there. Sign in to that one, or tell support.
        此处购买的内容属于另一个账户并保留在那里。请登录那个账户，或联系客服。

        unknown_order_number
        No purchase without an owner has this number. Check the number in Apple's mail.
        没有找到该订单号对应的待认领购买，请核对 Apple 邮件中的订单号。

        no_order_lookup
        Order numbers can't be looked up here. Send the number to support.
        此处无法查询 Apple 订单号，请将订单号提供给客服。

        account_merged guest_merged
        This account is part of another one now. Sign in with that one.
        此账户已并入其他账户，请登录那个账户。

        quantity_not_allowed
        Choose a quantity from 1 to 10.
        请选择 1 到 10 之间的数量。

        offer_not_open
        This offer isn't open to you. Buy at the regular price, or ask support.
        此优惠目前不对您开放。请按原价购买，或联系客服。
        """

    /// What the list of orders on the device says.
    static let journal = """
        disk_full
        The device's storage is full. Free some space and try again.
        设备存储空间已满。请清理空间后重试。

        disk_not_allowed
        The app may not write to its own storage. Restart the device and try again.
        App 无法写入自身的存储空间。请重启设备后重试。

        disk_in_use
        The app is already running elsewhere on this device. Close it there first.
        此 App 正在本设备的另一处运行，请先将其关闭。

        disk_fault
        The device's storage reports an error. Restart the device and try again.
        设备存储出现错误。请重启设备后重试。

        journal_version
        The list of purchases was written by another version of the app. Update the app.
        购买记录由另一版本的 App 写入，请更新 App。

        unknown_order
        There is no such order. Begin the purchase again.
        没有这个订单，请重新发起购买。

        known_order
        This order has changed. Begin the purchase again.
        此订单已发生变化，请重新发起购买。

        illegal_move
        This order can't be changed any more. Open the list of orders to see its status.
        此订单的状态已不能更改，请打开订单列表查看。
        """
}

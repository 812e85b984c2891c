import Lade

/// A request that is ready to be sent, with the values from earlier calls.
struct PreparedCall: Sendable {
    var request: Request
    /// The cookie jar for the call; nil when cookies are not kept.
    var jar: CookieJar?
    /// The session that the call belongs to.
    var session: SessionFile?
    /// The user and the password for a scheme that begins with the server's challenge.
    var credentials: UserCredentials?
    /// The users of hosts that redirects may lead to; nil when the first host alone has one.
    var netrc: Netrc?
    /// The cache of the call; nil without one.
    var cache: ResponseCache.Settings?
    /// How fast the bodies are sent and received at most, in bytes per second.
    var bodyRate: Int?

    /// Makes the request that the settings describe, with the fields of its session and the user in `.netrc`.
    ///
    /// - Parameters:
    ///   - settings: The settings of the command.
    ///   - context: The source of prompts and dates, and the mask for secrets.
    /// - Throws: A usage error for an invalid request, a local error for a file.
    init(_ settings: some CallSettings, _ context: CommandContext) async throws(CommandError) {
        var requestSettings = settings.request
        let given =
            try await requestSettings.edits() + settings.session.cookieTexts.map { HeaderEdit.set("Cookie", $0) }
        // The cookies of the session come before the cookies of this call, which replace session cookies of the same name.
        var cookies: [String] = []
        if let name = settings.session.name {
            let session = try SessionFile(name, for: try requestSettings.origin())
            let replacesUser = requestSettings.user != nil || settings.policy.authorisation != nil
            for field in session.fields {
                if field.name.equalsIgnoringASCIICase("Cookie") {
                    cookies.append(field.value)
                } else if !replacesUser || !field.name.equalsIgnoringASCIICase("Authorization") {
                    requestSettings.defaultHeaders.append(.set(field.name, field.value))
                }
            }
            self.session = session
        }
        if !given.contains(where: { $0.name.equalsIgnoringASCIICase("Authorization") }),
            settings.policy.authorisation == nil, let host = try? requestSettings.origin().host
        {
            let user = requestSettings.user ?? requestSettings.addressUser
            if user?.has(":") != true, let netrc = try settings.session.netrc(),
                let found = netrc.entry(for: host, user: user)
            {
                // A password that the entry lacks is asked for; curl sends an empty one.
                let isAsked = found.password == nil && !requestSettings.isForCurl
                requestSettings.user =
                    isAsked ? found.login : netrc.credentials(for: host, user: user)?.reveal()
            }
        }
        if requestSettings.isForCurl {
            // Behind a redirect, other credentials are not replaced by credentials of the file.
            let isSignedIn =
                settings.request.user != nil || settings.policy.authorisation != nil
                || given.contains { $0.name.equalsIgnoringASCIICase("Authorization") }
            // A digest is for the first host alone: elsewhere the password itself would be sent.
            if !isSignedIn, requestSettings.userScheme == .basic { netrc = try settings.session.netrc() }
            // curl asks for no password of a user in the address.
            if requestSettings.user == nil, let user = requestSettings.addressUser, !user.has(":") {
                requestSettings.user = user + ":"
            }
        }
        for text in settings.session.cookieTexts { requestSettings.headers.append(.set("Cookie", text)) }
        let prompt = PasswordPrompt(interruption: context.interruption)
        request = try await requestSettings.request(askingBy: prompt)
        let removesCookies = given.contains { $0.name.equalsIgnoringASCIICase("Cookie") && $0 == .remove($0.name) }
        if !cookies.isEmpty, !removesCookies {
            let field = CookiePairs.merging(
                cookies + request.headers.filter { $0.name.equalsIgnoringASCIICase("Cookie") }.map(\.value)
            )
            request.headers.set("Cookie", field)
        }
        credentials = try await requestSettings.credentials(for: request, askingBy: prompt)
        settings.connection.apply(to: &request)
        settings.policy.apply(to: &request)
        request.cacheMode = settings.caching.mode
        cache = try settings.caching.cache { context.tellCacheFault($0, settings.output) }
        jar = try await settings.session.makeJar(session, now: context.time.date) { line in
            if !settings.output.isSilent { context.console.say(line) }
        }
        // Credentials from .netrc are not copied into the session.
        let hasUser = settings.request.user != nil || settings.request.addressUser != nil
        session?.update(with: given, authorization: hasUser ? request.headers["Authorization"] : nil)
        if let jar { context.console.secrets.add(jar.cookies.map(\.value)) }
    }

    /// Saves the cookies and fields that the call has changed.
    ///
    /// - Throws: A local error when a file cannot be written.
    func finish(_ settings: SessionSettings, _ console: Console) throws(CommandError) {
        try settings.write(jar, on: console)
        if let jar { try session?.save(jar, console) }
    }
}

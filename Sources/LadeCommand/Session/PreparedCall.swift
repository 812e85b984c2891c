import Lade

/// A request that is ready to be sent, with the values from earlier calls.
struct PreparedCall: Sendable {
    var request: Request
    /// The cookie jar for the call; nil when cookies are not kept.
    var jar: CookieJar?
    /// The session that the call belongs to.
    var session: SessionFile?

    /// Makes the request that the settings describe, with the fields of its session and the user in `.netrc`.
    ///
    /// - Parameters:
    ///   - settings: The settings of the command.
    ///   - context: The source of prompts and dates, and the mask for secrets.
    /// - Throws: A usage error for an invalid request, a local error for a file.
    init(_ settings: some CallSettings, _ context: CommandContext) async throws(CommandError) {
        var requestSettings = settings.request
        let given = try await requestSettings.edits()
        if let name = settings.session.name {
            let session = try SessionFile(name, for: try requestSettings.origin())
            let replacesUser = requestSettings.user != nil || settings.policy.authorisation != nil
            let fields = session.fields.filter { field in
                !(replacesUser && field.name.equalsIgnoringASCIICase("Authorization"))
            }
            requestSettings.defaultHeaders += fields.map { HeaderEdit.set($0.name, $0.value) }
            self.session = session
        }
        if !given.contains(where: { $0.name.equalsIgnoringASCIICase("Authorization") }),
            settings.policy.authorisation == nil, let host = try? requestSettings.origin().host
        {
            let user = requestSettings.user ?? requestSettings.addressUser
            if user?.contains(":") != true,
                let found = try settings.session.netrcCredentials(for: host, user: user)
            {
                requestSettings.user = found.reveal()
            }
        }
        for text in settings.session.cookieTexts { requestSettings.headers.append(.set("Cookie", text)) }
        let prompt = PasswordPrompt(interruption: context.interruption)
        request = try await requestSettings.request(askingBy: prompt)
        settings.connection.apply(to: &request)
        settings.policy.apply(to: &request)
        jar = try await settings.session.makeJar(session, now: context.time.date)
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
        if let jar { try session?.save(jar) }
    }
}

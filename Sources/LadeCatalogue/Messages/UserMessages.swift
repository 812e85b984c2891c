public import Lade

extension Catalogue.BlockingReason {
    /// The message for a media that cannot be played; nil when it can.
    public func message(in language: MessageLanguage = .preferred) -> String? {
        guard self != .none else { return nil }
        return Self.messages.text(Self.allCases.firstIndex(of: self) ?? 0, in: language)
    }

    /// The message for a skipped segment; nil when it is not skipped.
    public func skipMessage(in language: MessageLanguage = .preferred) -> String? {
        guard let message = message(in: language) else { return nil }
        // These two messages advise the user whatever was skipped.
        guard self != .journalistic, self != .vpnOrProxy else { return message }
        return Self.messages.text(0, in: language).map { "\($0) \(message)" }
    }

    // Row 0 is the prefix of the message for a skipped segment; the other rows are in the order of the cases.
    private static let messages = MessageTable(
        """
        0 | Part skipped: | Abschnitt übersprungen: | Partie ignorée : | Parte saltata: | Part sursiglì:
        1 | Playable in Switzerland only. | Nur in der Schweiz abspielbar. | Lecture possible en Suisse uniquement. | Riproducibile solo in Svizzera. | Mo disponibel en Svizra.
        2 | Withheld for legal reasons. | Aus rechtlichen Gründen gesperrt. | Bloqué pour des raisons juridiques. | Bloccato per ragioni legali. | Bloccà per motivs giuridics.
        3 | Advertising cannot be played. | Werbung kann nicht abgespielt werden. | La publicité ne peut pas être lue. | La pubblicità non è riproducibile. | La reclama na po betg vegnir mussada.
        4 | Withdrawn for now by the editors. | Von der Redaktion vorläufig zurückgezogen. | Retiré provisoirement par la rédaction. | Ritirato provvisoriamente dalla redazione. | Retratg provisoricamain da la redacziun.
        5 | Playable from 22:00 to 05:00 (age 18). | Abspielbar von 22:00 bis 05:00 (ab 18). | Lecture possible de 22h00 à 05h00 (18 ans). | Riproducibile dalle 22:00 alle 05:00 (18 anni). | Disponibel da las 22:00 a las 05:00 (18 onns).
        6 | Playable from 20:00 to 06:00 (age 12). | Abspielbar von 20:00 bis 06:00 (ab 12). | Lecture possible de 20h00 à 06h00 (12 ans). | Riproducibile dalle 20:00 alle 06:00 (12 anni). | Disponibel da las 20:00 a las 06:00 (12 onns).
        7 | Not started. Come back later. | Noch nicht gestartet. Bitte später zurückkehren. | Pas encore commencé. Revenez plus tard. | Non ancora iniziato. Torni più tardi. | Betg anc cumenzà. Turnai pli tard.
        8 | Expired. | Abgelaufen. | Expiré. | Scaduto. | Scadì.
        9 | Turn off your VPN or proxy to play. | Zum Abspielen VPN oder Proxy ausschalten. | Désactivez le VPN ou le proxy pour lire. | Disattivi VPN o proxy per riprodurre. | Deactivai il VPN u il proxy.
        10 | Playback not possible. | Wiedergabe nicht möglich. | Lecture impossible. | Riproduzione impossibile. | Reproducziun betg pussaivla.
        """
    )
}

extension Catalogue.YouthProtectionColor {
    /// The message for the warning; nil without one.
    public func message(in language: MessageLanguage = .preferred) -> String? {
        switch self {
        case .none: nil
        case .yellow: Self.messages.text(1, in: language)
        case .red: Self.messages.text(2, in: language)
        }
    }

    /// The accessibility label of the warning's sign; nil without a warning.
    public func accessibilityLabel(in language: MessageLanguage = .preferred) -> String? {
        switch self {
        case .none: nil
        case .yellow: Self.messages.text(1, in: language)
        case .red: Self.messages.text(3, in: language)
        }
    }

    private static let messages = MessageTable(
        """
        1 | Parental guidance is advised. | Begleitung durch Eltern empfohlen. | L'accompagnement des parents est recommandé. | Si consiglia la presenza dei genitori. | Accumpagnament dals geniturs cussegliabel.
        2 | Disturbing content, not for everyone. | Verstörende Inhalte, nicht für alle geeignet. | Contenu choquant, ne convient pas à tous. | Contenuto impressionante, non adatto a tutti. | Cuntegn disturbant, betg adattà per tuts.
        3 | For a mature audience. | Für ein erwachsenes Publikum. | Pour un public averti. | Per un pubblico maturo. | Per in public creschì.
        """
    )
}

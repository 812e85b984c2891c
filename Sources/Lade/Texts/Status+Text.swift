public import LadeCore

extension Response.Status {
    /// A text for display to the user that explains the status; never empty.
    ///
    /// Covers the registered codes and widely used unregistered ones; all others have the text of their class.
    public func text(in language: MessageLanguage = .preferred) -> String {
        Self.texts.text(code, in: language) ?? Self.texts.text(code / 100, in: language)
            ?? Message.unknownError.text(in: language)
    }

    package static let texts = MessageTable(
        """
        1 | Please wait | Bitte warten | Veuillez patienter | Attendere prego | Spetgai per plaschair
        2 | Success | Erfolg | Succès | Operazione riuscita | Success
        3 | It is elsewhere | Anderswo zu finden | À chercher ailleurs | Si trova altrove | Sa chatta en in auter lieu
        4 | The request was refused | Die Anfrage wurde abgelehnt | La demande a été refusée | La richiesta è stata rifiutata | La dumonda è vegnida refusada
        5 | The server has a problem | Der Server hat ein Problem | Le serveur a un problème | Il server ha un problema | Il server ha in problem
        100 | Continue | Weiter | Continuer | Continua | Cuntinuar
        101 | Changing the protocol | Wechsel des Protokolls | Changement de protocole | Cambio di protocollo | Midada da protocol
        102 | Being processed | In Bearbeitung | Traitement en cours | In elaborazione | En elavuraziun
        103 | First hints | Erste Hinweise | Premières indications | Prime indicazioni | Emprims avis
        200 | All right | In Ordnung | Tout va bien | Tutto bene | Tut en urden
        201 | Created | Angelegt | Créé | Creato | Creà
        202 | Accepted | Angenommen | Accepté | Accettato | Acceptà
        203 | From another source | Aus anderer Quelle | D'une autre source | Da un'altra fonte | D'ina autra funtauna
        204 | No content | Kein Inhalt | Aucun contenu | Nessun contenuto | Nagin cuntegn
        205 | Start over | Neu beginnen | Recommencer | Ricominciare | Cumenzar da nov
        206 | A part of the content | Ein Teil des Inhalts | Une partie du contenu | Una parte del contenuto | Ina part dal cuntegn
        207 | Several results | Mehrere Ergebnisse | Plusieurs résultats | Più risultati | Plirs resultats
        208 | Already listed | Bereits aufgeführt | Déjà mentionné | Già elencato | Gia menziunà
        226 | Only the changes | Nur die Änderungen | Seulement les changements | Solo le modifiche | Mo las midadas
        300 | There are several choices | Es gibt mehrere Möglichkeiten | Plusieurs choix sont possibles | Ci sono più scelte | I dat pliras pussaivladads
        301 | Moved for good | Endgültig verschoben | Déplacé définitivement | Spostato definitivamente | Spustà definitivamain
        302 | Found elsewhere | Anderswo gefunden | Trouvé ailleurs | Trovato altrove | Chattà en in auter lieu
        303 | See elsewhere | Anderswo nachsehen | Voir ailleurs | Guardare altrove | Guardar en in auter lieu
        304 | Nothing has changed | Nichts hat sich geändert | Rien n'a changé | Nulla è cambiato | Nagut n'è sa midà
        305 | A proxy must be used | Ein Proxy muss benutzt werden | Un proxy doit être utilisé | Occorre usare un proxy | In proxy sto vegnir duvrà
        306 | Another proxy must be used | Ein anderer Proxy muss benutzt werden | Un autre proxy doit être utilisé | Occorre usare un altro proxy | In auter proxy sto vegnir duvrà
        307 | Moved for now | Vorübergehend verschoben | Déplacé temporairement | Spostato temporaneamente | Spustà temporarmain
        308 | Moved for good | Endgültig verschoben | Déplacé définitivement | Spostato definitivamente | Spustà definitivamain
        400 | The request is malformed | Die Anfrage ist fehlerhaft | La demande est incorrecte | La richiesta non è corretta | La dumonda n'è betg correcta
        401 | You have to sign in first | Sie müssen sich zuerst anmelden | Vous devez d'abord vous connecter | È necessario prima effettuare l'accesso | Vus stuais l'emprim s'annunziar
        402 | This has to be paid for | Das ist kostenpflichtig | Ce contenu est payant | Questo contenuto è a pagamento | Quest cuntegn è da pajar
        403 | You may not see this | Sie dürfen das nicht sehen | Vous n'avez pas accès à ce contenu | Non ha accesso a questo contenuto | Vus n'avais nagin access a quest cuntegn
        404 | This could not be found | Das wurde nicht gefunden | Ce contenu est introuvable | Questo contenuto non è stato trovato | Quest cuntegn n'è betg vegnì chattà
        405 | This cannot be done here | Das ist hier nicht möglich | Cette opération n'est pas possible ici | Questa operazione qui non è possibile | Questa acziun n'è betg pussaivla qua
        406 | There is no suitable form of this | Das gibt es nicht in passender Form | Aucune forme adaptée n'est disponible | Non c'è una forma adatta | I na dat betg ina furma adattada
        407 | The proxy wants you to sign in | Der Proxy verlangt eine Anmeldung | Le proxy demande une connexion | Il proxy richiede l'accesso | Il proxy pretenda in'annunzia
        408 | The request took too long | Die Anfrage hat zu lange gedauert | La demande a pris trop de temps | La richiesta ha impiegato troppo tempo | La dumonda ha durà memia ditg
        409 | This contradicts what is there | Das widerspricht dem, was da ist | Cela contredit l'existant | Questo contraddice quanto esiste | Quai cuntrafa a quai ch'exista
        410 | This does not exist any more | Das gibt es nicht mehr | Ce contenu n'existe plus | Questo contenuto non esiste più | Quest cuntegn n'exista betg pli
        411 | The length is missing | Die Länge fehlt | La longueur manque | Manca la lunghezza | La lunghezza manca
        412 | A condition is not met | Eine Bedingung ist nicht erfüllt | Une condition n'est pas remplie | Una condizione non è soddisfatta | Ina cundiziun n'è betg ademplida
        413 | Too much was sent | Es wurde zu viel gesendet | L'envoi est trop volumineux | L'invio è troppo grande | La tramessa è memia gronda
        414 | The address is too long | Die Adresse ist zu lang | L'adresse est trop longue | L'indirizzo è troppo lungo | L'adressa è memia lunga
        415 | This kind of content is not supported | Diese Art von Inhalt wird nicht unterstützt | Ce type de contenu n'est pas pris en charge | Questo tipo di contenuto non è supportato | Quest tip da cuntegn na vegn betg sustegnì
        416 | There is no such part | Diesen Teil gibt es nicht | Cette partie n'existe pas | Questa parte non esiste | Questa part n'exista betg
        417 | What was expected cannot be done | Das Erwartete ist nicht möglich | L'attente ne peut être satisfaite | L'attesa non può essere soddisfatta | Quai che vegn spetgà n'è betg pussaivel
        418 | This is a teapot | Das ist eine Teekanne | C'est une théière | Questa è una teiera | Quai è ina chanta da té
        420 | Please slow down | Bitte langsamer | Veuillez ralentir | Rallentare, per favore | Pli plaun, per plaschair
        421 | The wrong server was asked | Der falsche Server wurde gefragt | Le mauvais serveur a été sollicité | È stato interpellato il server sbagliato | Il fauss server è vegnì dumandà
        422 | The content cannot be processed | Der Inhalt kann nicht verarbeitet werden | Le contenu ne peut pas être traité | Il contenuto non può essere elaborato | Il cuntegn na po betg vegnir elavurà
        423 | This is locked | Das ist gesperrt | Ce contenu est verrouillé | Questo contenuto è bloccato | Quest cuntegn è bloccà
        424 | Something it depends on failed | Etwas Vorausgesetztes ist gescheitert | Une opération préalable a échoué | Un'operazione preliminare non è riuscita | In'acziun preliminara n'è betg reussida
        425 | It is too early | Es ist zu früh | Il est trop tôt | È troppo presto | Igl è memia baud
        426 | A newer protocol is needed | Ein neueres Protokoll ist nötig | Un protocole plus récent est nécessaire | È necessario un protocollo più recente | In protocol pli nov è necessari
        428 | A condition is missing | Eine Bedingung fehlt | Une condition manque | Manca una condizione | Ina cundiziun manca
        429 | Too many requests | Zu viele Anfragen | Trop de demandes | Troppe richieste | Memia bleras dumondas
        431 | The header is too large | Die Kopfzeilen sind zu gross | Les en-têtes sont trop volumineux | Le intestazioni sono troppo grandi | Las lingias da chau èn memia grondas
        440 | You have been signed out | Sie wurden abgemeldet | Votre session a expiré | La sessione è scaduta | Vossa sesida è scadida
        444 | The server sent nothing | Der Server hat nichts gesendet | Le serveur n'a rien envoyé | Il server non ha inviato nulla | Il server n'ha tramess nagut
        449 | Try again with more information | Bitte mit mehr Angaben erneut versuchen | Réessayez avec plus d'informations | Riprovare con più informazioni | Empruvar anc ina giada cun dapli infurmaziuns
        450 | Blocked by parental controls | Durch die Jugendschutzeinstellungen gesperrt | Bloqué par le contrôle parental | Bloccato dal controllo genitori | Bloccà da la controlla dals geniturs
        451 | Not available for legal reasons | Aus rechtlichen Gründen nicht verfügbar | Indisponible pour des raisons juridiques | Non disponibile per motivi legali | Betg disponibel per motivs giuridics
        495 | Your certificate is not valid | Ihr Zertifikat ist ungültig | Votre certificat n'est pas valable | Il suo certificato non è valido | Voss certificat n'è betg valaivel
        496 | Your certificate is missing | Ihr Zertifikat fehlt | Votre certificat manque | Manca il suo certificato | Voss certificat manca
        497 | A secure connection is needed | Eine sichere Verbindung ist nötig | Une connexion sécurisée est nécessaire | È necessaria una connessione sicura | Ina colliaziun segira è necessaria
        498 | Your access is not valid any more | Ihr Zugang ist nicht mehr gültig | Votre accès n'est plus valable | Il suo accesso non è più valido | Voss access n'è betg pli valaivel
        499 | Cancelled | Abgebrochen | Annulé | Annullato | Interrut
        500 | The server has a problem | Der Server hat ein Problem | Le serveur a un problème | Il server ha un problema | Il server ha in problem
        501 | The server cannot do this yet | Der Server kann das noch nicht | Le serveur ne sait pas encore faire cela | Il server non sa ancora farlo | Il server na sa quai anc betg
        502 | A server behind it responded wrongly | Ein Server dahinter hat falsch geantwortet | Un serveur en amont a mal répondu | Un server a monte ha risposto male | In server davostiers ha respundì fauss
        503 | The service is not available at the moment | Der Dienst ist im Moment nicht verfügbar | Le service est momentanément indisponible | Il servizio al momento non è disponibile | Il servetsch n'è actualmain betg disponibel
        504 | A server behind it took too long | Ein Server dahinter hat zu lange gebraucht | Un serveur en amont a mis trop de temps | Un server a monte ha impiegato troppo tempo | In server davostiers ha duvrà memia ditg
        505 | This version of HTTP is not supported | Diese Version von HTTP wird nicht unterstützt | Cette version de HTTP n'est pas prise en charge | Questa versione di HTTP non è supportata | Questa versiun da HTTP na vegn betg sustegnida
        506 | The server has found a loop | Der Server dreht sich im Kreis | Le serveur tourne en rond | Il server gira in tondo | Il server va enturn en in rudè
        507 | The server has no room left | Der Server hat keinen Platz mehr | Le serveur n'a plus de place | Il server non ha più spazio | Il server n'ha nagin plaz pli
        508 | The server has found a loop | Der Server dreht sich im Kreis | Le serveur tourne en rond | Il server gira in tondo | Il server va enturn en in rudè
        509 | The server has sent too much already | Der Server hat schon zu viel gesendet | Le serveur a déjà trop envoyé | Il server ha già inviato troppo | Il server ha gia tramess memia bler
        510 | The request lacks something | Der Anfrage fehlt etwas | Il manque quelque chose à la demande | Alla richiesta manca qualcosa | A la dumonda manca insatge
        511 | The network wants you to sign in | Das Netz verlangt eine Anmeldung | Le réseau demande une connexion | La rete richiede l'accesso | La rait pretenda in'annunzia
        520 | The server responded in an unexpected way | Der Server hat unerwartet geantwortet | Le serveur a répondu de façon inattendue | Il server ha risposto in modo inatteso | Il server ha respundì en moda nunspetgada
        521 | The server is switched off | Der Server ist ausgeschaltet | Le serveur est éteint | Il server è spento | Il server è distatgà
        522 | The server could not be reached in time | Der Server war nicht rechtzeitig erreichbar | Le serveur n'a pas pu être joint à temps | Il server non è stato raggiunto in tempo | Il server n'è betg stà cuntanschibel ad uras
        523 | The server cannot be reached | Der Server ist nicht erreichbar | Le serveur est injoignable | Il server non è raggiungibile | Il server n'è betg cuntanschibel
        524 | The server took too long | Der Server hat zu lange gebraucht | Le serveur a mis trop de temps | Il server ha impiegato troppo tempo | Il server ha duvrà memia ditg
        525 | No secure connection could be made | Es konnte keine sichere Verbindung hergestellt werden | Impossible d'établir une connexion sécurisée | Impossibile stabilire una connessione sicura | I n'è betg reussì da far ina colliaziun segira
        526 | The server's certificate is not valid | Das Zertifikat des Servers ist ungültig | Le certificat du serveur n'est pas valable | Il certificato del server non è valido | Il certificat dal server n'è betg valaivel
        527 | The connection to the server was lost | Die Verbindung zum Server wurde unterbrochen | La connexion au serveur a été perdue | La connessione al server è stata interrotta | La colliaziun cun il server è vegnida interrutta
        530 | The server is switched off | Der Server ist ausgeschaltet | Le serveur est éteint | Il server è spento | Il server è distatgà
        598 | The network took too long to read | Das Lesen aus dem Netz hat zu lange gedauert | La lecture du réseau a pris trop de temps | La lettura dalla rete ha impiegato troppo tempo | La lectura da la rait ha durà memia ditg
        599 | The network took too long to connect | Das Verbinden mit dem Netz hat zu lange gedauert | La connexion au réseau a pris trop de temps | La connessione alla rete ha impiegato troppo tempo | La colliaziun cun la rait ha durà memia ditg
        """
    )
}

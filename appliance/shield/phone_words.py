"""The words that say whether a number beside them is a telephone's. Data alone: must not know about numbers.

In the languages of FR BE CH LU DE AT ES PT IT NL GB IE PL US CA, without accents and in lower case.
"""

_PHONE = """
    phone phones telephone telephones tel tels telno mobile mob cell cellphone cellular landline fax faxes facsimile
    ph phoneno phonenumber phonenr mobilephone homephone workphone mobilenumber faxnumber telephonenumber
    hotline helpline voicemail pager whatsapp sms
    teleph phon portable gsm natel telecopie telecopieur faxer faxe faxee telephoner joignable joignables
    telefon telefonnummer telefonnr telefonisch fon handy handynummer mobil mobilfunk mobilnummer mobiltelefon
    rufnummer telefax faxnummer festnetz durchwahl erreichbar
    telefono telefonos telf telef tfno tfn tlf tlfno movil celular
    telefone telefones telemovel telem tlm telm
    cellulare cellulari cel telefonico
    telefoon telefoonnummer telefoonnr mobiel mobiele bereikbaar mobielnummer
    telefonu telefony telefoniczny komorka komorkowy komorkowa faks
    """
PHONE = frozenset(_PHONE.split())

_REQUESTS = """
    call calling dial ring reach answering contact contacts contacted
    appel appeler appelle appelez rappel rappeler rappelez joindre contacter contactez fixe
    anruf anrufen rufen erreichen llamar llame llama llamenos contacto contactos contato ligar ligue
    chiamare chiama chiamami chiami recapito recapiti bellen bel bereiken zadzwon zadzwonic dzwonic kom
    """
REQUESTS = frozenset(_REQUESTS.split())
"""Words that ask to use one. They mean other things too, most of all in programs, and count for less."""

_NUMBERED = """
    siren siret rcs tva vat iban bic swift rib cb carte card visa mastercard karte tarjeta carta
    isbn issn ean gtin upc asin doi imei
    nir nss nass nuss secu ssn security mrn ipp npi nhs ndc policy contract contrat vertrag
    tracking serial serie license licence passport passeport
    version id uid pid gid uuid port timestamp commit sha hash checksum digest pull issue bug
    """
NUMBERED = frozenset(_NUMBERED.split())
"""What has a number of its own, so that one right after is that."""

_BUSINESS = """
    invoice facture rechnung rechnungsnummer factura fattura factuur faktura fatura
    order orders commande bestellung bestellnummer pedido ordine bestelling zamowienie encomenda
    client customer kunde kundennummer cliente klant klantnummer klient clientid customerid orderid
    account compte konto kontonummer cuenta conto rekening conta
    ref reference referenz referencia riferimento dossier ticket case
    """
OTHER = NUMBERED | frozenset(_BUSINESS.split())
"""These and what may have a telephone too: they keep a phone word farther away from deciding."""

AFTER = frozenset({
    "phone", "tel", "telephone", "mobile", "mob", "cell", "office", "work", "home", "fax", "portable", "fixe", "bureau",
    "telefon", "handy", "mobil", "movil", "fijo",
})  # fmt: skip
"""What may stand after a number on the same line, as the last word of its field."""

SIGNS = "☎☏✆📞📟📠📱🕻🕼🕽🕾🕿🖀🖁🖷\uf028"
"""Pictures of telephones; the last is that of the Wingdings font as word processors write it."""

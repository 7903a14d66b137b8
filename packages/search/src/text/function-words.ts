/**
 * The function words of languages other than English: articles, pronouns, prepositions, conjunctions, auxiliaries,
 * question words, and fragments around apostrophes. Function words show the structure of a sentence rather than its
 * topic, and therefore indicate its language. Written with all accents; the first and second person singular are
 * included.
 */
export const FUNCTION_WORDS = {
  danish: `
    og i jeg det at en et den til er som på de med han af for ikke der var mig sig men har om vi min mine mit du dig din
    dine dit hun ham hans hende hendes nu over da fra ud op ned os vores jer jeres dem deres eller hvad hvem hvor
    hvornår hvordan hvorfor hvilken hvilket hvilke skal skulle vil ville kan kunne må måtte bliver blev blive blevet
    være været hos her når hvis også kun så end efter under ved mod uden mellem sin sit sine selv denne dette disse have
    havde meget mange noget nogen nogle ingen intet alle alt anden andet andre jo nok altid aldrig bag`,
  dutch: `
    de het een en van ik te dat die in is was op aan met als voor had er maar om hem dan zou of wat mijn men dit zo door
    over ze zich bij ook tot je mij uit daar haar naar heb hoe heeft hebben hebt deze u want nog zal me zij wij we jij
    jou jouw uw ge geen omdat iets worden wordt werd werden toch al waren veel meer doen toen moet moeten ben bent zijn
    zonder kan kunnen kon konden hun hen ons onze dus onder ja eens hier wie welke welk waar waarom wanneer waarheen
    hoeveel wil willen niets niet iemand niemand andere zelf tegen na reeds hij sinds achter elke elk`,
  finnish: `
    ja on oli olen olet olemme olette ovat olin olivat ollut olleet ole olla ei en et emme ette eivät että kun jos mutta
    tai vai sekä niin kuin koska joka jotka jonka jossa josta johon mikä minkä mitä missä mistä mihin millä milloin
    miksi miten kuka kenen ketä kuinka millainen millaisia minä minun minut minua minulla minulle sinä sinun sinut sinua
    sinulla sinulle hän hänen hänet häntä hänellä hänelle me meidän meitä meillä meille te teidän teitä teillä teille he
    heidän heitä heillä heille se sen sitä siinä siitä siihen sillä sille ne niiden niitä niissä niistä tämä tämän tätä
    tässä tästä tähän nämä näiden näitä tuo tuon tuota nuo myös vielä jo nyt vain sitten kanssa takana taakse ennen
    jälkeen ilman kautta mukaan aina koskaan ehkä siis ihan voi voin voit pitää`,
  french: `
    le la les l un une des du d de à au aux et ou où mais donc or ni car que qu qui quoi dont ce c cet cette ces ça cela
    ceci se s sa son ses leur leurs mon ma mes ton ta tes notre nos votre vos je j tu il elle on nous vous ils elles lui
    eux y en ne n pas plus moins très me m te t moi toi soi est es suis sommes êtes sont était étais étaient étions être
    sera serai seront serait ai as a avons avez ont avais avait avaient avoir aura aurai auront aurait fut dans par pour
    sur sous avec sans chez vers entre depuis pendant quand comment combien pourquoi quel quelle quels quelles si aussi
    même comme parce puisque lorsque afin alors ainsi aujourd hui jamais toujours encore déjà rien aucun aucune chaque
    tout toute tous toutes peut peux peuvent faut fait`,
  german: `
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und oder aber denn weil
    dass daß wenn als ob wie wo wann warum wieso wer wen wem wessen was welche welcher welches welchen welchem wohin
    woher womit wofür worüber ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen sich mein meine meinen
    meinem meiner meines dein deine deinen deinem deiner sein seine seinen seinem seiner seines ihre ihren ihrem ihrer
    ihres unser unsere unseren unserem unserer euer eure bin bist ist sind seid war warst waren wart gewesen habe hast
    hat haben habt hatte hatten werde wird werden wurde wurden worden kann kannst können konnte muss müssen soll sollen
    will wollen darf mag möchte in im an am auf aus bei beim mit nach seit von vom vor zu zum zur für gegen ohne um
    durch über unter zwischen neben hinter nicht auch nur noch schon sehr so da dann dort hier man dieser diese dieses
    diesen diesem jeder jede jedes jeden jedem alle alles etwas nichts doch immer nie wieder davon dafür damit dazu
    daran darauf darin viele wieviel`,
  hungarian: `
    a az egy és hogy nem is van vannak volt voltak lesz lenne legyen lehet kell de ha mert vagy mint meg már még csak el
    ez azt ezt ezek azok aki akik ami amit amely amelyik ki kik mi mit miért mikor hol hova hová honnan hogyan milyen
    melyik mennyi hány én te ő mi ti ők engem téged őt minket titeket őket nekem neked neki nekünk nektek nekik nálam
    nálad nála velem veled vele velünk velük tőle tőlem róla benne hozzá rá alatt mellett mögött előtt után között fölött
    óta ezért azért így úgy itt ott most majd minden semmi senki valami valaki nincs sem se pedig ne igen abban ebben
    ezen azon erre arra ennek annak ahol amikor mióta`,
  indonesian: `
    yang dan di ke dari ini itu untuk dengan pada adalah tidak bukan saya aku kamu anda dia ia kami kita mereka akan
    sudah telah belum sedang bisa dapat harus ada atau tetapi tapi karena jika kalau ketika saat sebagai oleh juga saja
    lagi sangat lebih para apa siapa mana kapan bagaimana mengapa kenapa berapa dalam antara setiap sejak tanpa tentang
    seperti bahwa hanya masih pernah nya`,
  irish: `
    an na agus is tá bhí atá raibh níl nach ar ag le do mo sé sí siad mé tú sinn sibh go sa san leis léi liom leat againn
    aige aici agam agat acu dom duit dó di dúinn cá cathain conas cad cé cén seo sin ach nó ó faoi chun roimh mar gach
    aon bhfuil beidh bheadh ní gur ba den don ina lena ón a i ár bhur`,
  italian: `
    il lo la l i gli le un uno una di a da in con su per tra fra del dello della dell dei degli delle al allo alla all
    ai agli alle dal dallo dalla dall dai dagli dalle nel nello nella nell nei negli nelle sul sullo sulla sull sui sugli
    sulle e ed o od ma se che chi cui c come dove quando quanto quanta quanti quante quale quali qual perché cosa cos io
    tu lui lei noi voi loro mi ti ci vi si ne mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri
    nostre vostro vostra vostri vostre questo questa questi queste quest quello quella quelli quelle quell quel quei
    sono sei è siamo siete era ero erano eravamo sarà saranno sarebbe essere stato stata stati state ho hai ha abbiamo
    avete hanno avevo aveva avevano avere fa non più anche già ancora mai sempre poi così molto dopo prima senza
    verso ogni tutto tutta tutti tutte niente nulla d`,
  lithuanian: `
    ir yra buvo bus kad su į iš kaip bet ne ar per už nuo iki tai jis ji jie jos mes jūs aš tu mano tavo savo jo jų mus
    man tau jam jai kur kada kodėl kas ką kuris kuri kurie kokia koks kiek po prie apie dėl jau tik dar labai taip čia
    ten kai jei arba be tarp nėra ant pas mane tave jį ją šis ši tas ta šio tos o`,
  norwegian: `
    og i jeg det at en ei et den til er som på de med han av for ikke der var meg seg men har om vi min mi mine mitt du
    deg din dine ditt hun ham hans henne hennes nå over da fra ut opp ned oss vår våre dere deres dem eller hva hvem
    hvor når hvordan hvorfor hvilken hvilket hvilke skal skulle vil ville kan kunne må måtte blir ble bli blitt være
    vært hos her hvis også bare kun så enn etter under ved mot uten mellom sin sitt sine selv denne dette disse ha
    hadde mye mange noe noen ingen alle alt annen annet andre jo nok alltid aldri bak ikkje eg kva kven dei`,
  portuguese: `
    o a os as um uma uns umas de do da dos das em no na nos nas num numa por pelo pela pelos pelas ao à aos às para com
    sem sob sobre entre até desde e ou mas nem que quem qual quais quando onde como quanto quanta quantos quantas porque
    porquê se não sim eu tu você vocês ele ela eles elas nós vós me te lhe lhes mim ti si meu minha meus minhas teu tua
    teus tuas seu sua seus suas nosso nossa nossos nossas dele dela deles delas este esta estes estas esse essa esses
    essas aquele aquela isto isso aquilo é és sou são somos era eram éramos foi foram fui ser será seria sido está estou
    estão estava estavam estar tem tenho têm temos tinha tinham ter há havia vai vou vão já ainda também só muito mais
    menos depois antes nunca sempre cada todo toda todos todas algo nada aqui ali lá`,
  romanian: `
    și a al ai ale o un una unui unei de la în din pe cu pentru prin spre sub fără între după până despre către lângă
    într printr dintr ce cine care cui când unde cum cât câtă câți câte dacă că să sau ori dar iar ci nici nu mai eu tu
    el ea noi voi ei ele mă te îl îi ne vă le mi ți își se s i l mie ție lui lor meu mea mei mele tău ta tăi tale său sa
    săi sale nostru noastră noștri noastre acest această acești aceste acel acea acei acele acesta aceasta sunt ești
    este e suntem sunteți era eram erau fost fi va vor voi vom am ați au avea are avem aveți fiecare tot toată toți
    toate foarte prea numai doar chiar apoi atunci acum aici acolo niciodată mereu cel cea cei`,
  spanish: `
    el la los las lo un una unos unas de del a al en con por para sin sobre entre hasta desde hacia según contra durante
    y e o u pero ni que quien quién quienes qué cual cuál cuáles cuando cuándo donde dónde adónde como cómo cuanto cuánto
    cuánta cuántos cuántas porque si sí no yo tú él ella ellos ellas nosotros nosotras vosotros usted ustedes me te se
    nos os le les mí ti mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta estos estas ese esa esos esas
    aquel aquella esto eso aquello es son soy eres somos era eran fue fueron ser será sido está están estoy estaba
    estaban estar he has ha han hemos había habían haber hay tiene tienen tengo tenía tener va voy van ya aún también
    muy más menos después antes nunca siempre cada todo toda todos todas algo nada aquí allí tan`,
  swedish: `
    och i jag det att en ett den till är som på de med han av för inte där var mig sig men har om vi min mina mitt du
    dig din dina ditt hon honom hans henne hennes nu över då från ut upp ner oss vår våra vårt er era dem deras eller
    vad vem vart när hur varför vilken vilket vilka ska skall skulle vill ville kan kunde må måste blir blev bli blivit
    vara varit hos här också bara så än efter under vid mot utan mellan sin sitt sina själv denna detta dessa hade haft
    mycket många något någon några ingen inget inga alla allt annan annat andra ju nog alltid aldrig bakom sedan ej icke
    åt`,
  turkish: `
    ve bir bu şu o de da ki mi mı mu mü ile için gibi kadar ama fakat çünkü eğer ya veya hem ne neden niçin niye nasıl
    nerede nereye nereden kim kimin kime kimi hangi hangisi hangileri kaç zaman ben sen biz siz onlar beni seni onu bizi
    sizi onları bana sana ona bize size onlara benim senin onun bizim sizin onların bende sende onda benden senden ondan
    bunu bunun buna bunlar şunu var yok değil çok daha en her hiç bazı bütün tüm şey göre sonra önce beri üzere olan
    olarak oldu olur olacak idi ise iken mısın misin mıyım miyim artık hâlâ
    ta te dan den tan ten e a ye yi ı in ın un ün nin nın nun nün la le`,
} as const;

/**
 * Function words of Russian, and of Ukrainian where the spelling differs. Also used for other languages in Cyrillic
 * letters.
 */
export const CYRILLIC_FUNCTION_WORDS = `
  и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще
  нет о из ему теперь когда даже ну ли если или ни быть был него до вас уж вам ведь там потом себя ничего ей может
  они тут где есть надо ней для мы тебя их чем была сам чтоб чтобы без будто чего тоже себе под будет тогда кто этот
  того потому этого какой какая какое какие каких каким какого какую каком совсем ним здесь этом мой моя мое мои моего
  моей моих моим моему твой твоя твои свой своя свое свои своего своей своих наш наша наши нас ваш ваша ваши нам им ими
  нее них зачем почему сколько куда откуда при над об про через эти эту эта это тот та те тем том были есть который
  которая которое которые которого которой которых после перед между также чей чья
  й і та але що як який яка яке які яких якого якої якому це цей ця ці він вона воно вони його її їх мене тебе йому їй
  із зі від біля коли де куди звідки чому хто чий є був була були буде бути ще вже чи або якщо бо тому також мій моя
  моє мої моїх свій наш ваш нас вас нам вам після через між`;

export const GREEK_FUNCTION_WORDS = `
  ο η το οι τα του της των τον την τους τις τη ένας μια μία ένα ενός μιας έναν στο στη στην στον στα στις στους στου και
  κι ή είτε αλλά όμως αν όταν όπως ότι πως που πού πότε πώς γιατί τι ποιος ποια ποιο ποιοι ποιες ποιον ποιους ποιων
  πόσο πόση πόσοι πόσες πόσα πόσους εγώ εσύ αυτός αυτή αυτό αυτοί αυτές αυτά εμείς εσείς με σε μας σας μου σου για από
  προς παρά μετά χωρίς ως έως εδώ εκεί θα να δεν δε μη μην είμαι είσαι είναι είμαστε είστε ήταν ήμουν έχω έχεις έχει
  έχουμε έχετε έχουν είχα είχε είχαν κάθε πολύ πιο όλα όλοι όλες κάτι κάποιος τώρα τότε ακόμα επίσης πάντα ποτέ`;

export const ARABIC_FUNCTION_WORDS = `
  في من إلى على عن مع هذا هذه ذلك تلك هؤلاء التي الذي الذين هو هي هم هن أنا أنت نحن أنتم كان كانت كانوا يكون تكون
  ليس ليست لا لم لن ما ماذا متى أين كيف لماذا هل كم أي أية من قد لقد إن أن أنه أنها إذا لو لكن بل أو أم ثم و ف ب ل ك
  كل بعض غير بين عند عندي عنده عندها لدي لديه لديها منذ قبل بعد حتى كما لأن لأنها لأنه الآن هنا هناك أيضا فقط له لها
  لي لك لهم لنا به بها فيه فيها منه منها عليه عليها يا حين حيث`;

export const HINDI_FUNCTION_WORDS = `
  का की के को से में पर ने और या भी ही तो तक कि जो यह वह ये वे इस उस इन उन इसे उसे इसका उसका इसके उसके इसकी उसकी मैं
  मुझे मेरा मेरी मेरे हम हमें हमने हमारा हमारी हमारे तुम तुम्हें तुम्हारा तुम्हारी आप आपका आपकी आपके उन्हें उन्होंने इन्हें वाला वाली
  वाले है हैं था थी थे हो होता होती होते हुआ हुई हुए होना रहा रही रहे गया गई गए कर करके लिए साथ बाद पहले क्या कौन
  कौनसा कब कहाँ कैसे कैसा कैसी क्यों कितना कितनी कितने किस किसने किसे कुछ कोई सब सभी हर एक अब जब तब यहाँ वहाँ नहीं न मत
  अगर लेकिन मगर क्योंकि इसलिए जैसे अपना अपनी अपने सी सा`;

/**
 * English words that show the structure of a sentence rather than its topic, and fragments around apostrophes. Two
 * groups of common stop words are left out: the first and second person singular (i, my, me, you, your), since a memory
 * is often about one of the two speakers; and before, after, during, about, up, down and similar words, which express
 * time and place and are part of many verbs.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  words(`
  a an the this that these those such
  he him his himself she her hers herself it its itself we us our ours ourselves they them their theirs themselves
  myself mine yours yourself yourselves
  who whom whose which what when where why how
  am is are was were be been being do does did doing done have has had having
  can could may might must shall should will would ought
  and but or nor if then than so because as until while although though unless whether
  of at by for with in on to from into
  here there all any both each few more most other some no not only own same too very just also ever
  s t d m re ve ll nt
  isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt wont wouldnt shouldnt mustnt mightnt
  neednt shant aint cannot
  `),
);

/**
 * Words that indicate an English text: English function words, greetings and other common words, and English words and
 * names that are spelled like function words of other languages.
 */
export const ENGLISH_EVIDENCE: ReadonlySet<string> = new Set([
  ...STOP_WORDS,
  ...words(`
me my you your about up down out off over under before after during through again one yes yeah yep nope ok okay oh
  um uh hey hi hello bye ya em thanks thank please wow sure cool great good nice
  ad ai ale alla alt ant apa ate aura bag bar ben bent bet bin biz bus ca cad car care cat chi com come comment con
  cos dan day die dig dim dir don door end era et far fur go gore ha ham han hans hat hon im jam jo jus ma man mar
  men met mid min mint mis mit mo mon once pa par pas pendant per perch plus pour pre quest red sale san sans sara
  sedan see sin sit size som son soy state sub sur take tale tan tau ten tie till ton tue van var vi want war wo ye
  yo
  `),
]);

function words(list: string): string[] {
  return list.trim().split(/\s+/);
}

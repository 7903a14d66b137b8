/** A date word, into which the words of each language are translated. */
export type DateWord =
  | 'today'
  | 'yesterday'
  | 'before yesterday'
  | 'last'
  /** "Last" after a weekday or a unit, as in "el lunes pasado"; else a verb, as in "¿qué ha pasado?". */
  | 'past'
  /** "Before last", as in "the week before last" and "vorletzte Woche". */
  | 'before last'
  | 'this'
  | 'ago'
  | 'since'
  | 'before'
  | 'until'
  | 'after'
  | 'and'
  | 'day'
  | 'week'
  | 'weekend'
  | 'month'
  | 'quarter'
  | 'year'
  | 'night'
  | 'part of day';

/** The words of one language, each list separated by blanks, or by `|` if words contain blanks. */
export interface DateQuestionWords {
  /**
   * Words that a question about a date has besides the date: question words, pronouns, "do", "happen", "talk". A word
   * that is also a number or a short name of a day is a filler.
   */
  fillers: string;
  /** Phrases of which a word is no filler by itself. */
  phrases?: string;
  /** The words of each date word. */
  words: Partial<Record<DateWord, string>>;
  /** Names of weekdays besides those of CLDR, from 0 for Sunday. */
  weekdays?: Readonly<Record<string, number>>;
  /** Whether a date in digits without a year begins with its month; undefined if writers differ. */
  isMonthFirst?: boolean;
  /** Number words from 1. */
  numbers: string;
  /** True if the word for "ago" also means "before", as in "vor drei Tagen" and "vor dem 3. Mai". */
  isAgoBefore?: true;
  /** True if words are written without blanks between them. */
  isUnspaced?: true;
}

/** The languages in which questions made of a date are read, by their codes in ISO 639-1. */
export const DATE_QUESTION_WORDS: Readonly<Record<string, DateQuestionWords>> = {
  en: {
    fillers: `what whats what's which who where how when was were is are has have had been being did do does done doing we i
      you he she they it us me my our your their there that the a an of on in at for about with happen happened happens
      happening going went gone go talk talked talking discuss discussed say said tell told mention mentioned speak spoke
      write wrote note noted notes memory memories entry entries thing things stuff anything something everything all any
      new up to get got make made remember remind show list give find events event plans plan planned s ve i've we've
      i'd we'd during dated date occurred occur took take place so please can could would work worked working on's
      exactly else hey hi hello ok okay thanks thank again like file summary summarize summarise recap today's between from conversation conversations meet met see saw learn learned decide decided`,
    words: {
      today: 'today tonight',
      yesterday: 'yesterday',
      'before yesterday': 'the day before yesterday|day before yesterday',
      last: 'last past previous preceding',
      this: 'this current',
      ago: 'ago back earlier',
      since: 'since',
      before: 'before',
      until: 'until till',
      after: 'after',
      and: 'and to through',
      day: 'day days',
      week: 'week weeks',
      weekend: 'weekend weekends',
      month: 'month months',
      quarter: 'quarter quarters',
      year: 'year years',
      night: 'night',
      'part of day': 'morning afternoon evening noon lunchtime early late midday',
    },
    numbers: 'one|first two|second three|third four|fourth five six seven eight nine ten eleven twelve',
  },
  de: {
    isAgoBefore: true,
    isMonthFirst: false,
    weekdays: { sonnabend: 6 },
    fillers: `was welche welcher welches wer wo wie wann war waren ist sind hat hab habe haben hatte hatten gab gibt es wir ich du
      ihr sie er man uns mir mich mein meine unser unsere denn da den dem der die das des ein eine einen einem einer am an
      im in vom von zum zur über bei so los passiert passierte geschah geschehen gemacht machten tat taten getan tun machen
      gesprochen sprachen geredet besprochen gesagt erzählt erwähnt geschrieben notiert notizen einträge erinnerungen
      etwas irgendetwas irgendwas alles neues neu sachen zeig zeige mir liste während bitte anstand noch auf dran worüber
      darüber getrieben gewesen stand hallo danke nochmal nochmals eigentlich eben mal erzähl erzähle fass fasse zusammen
      zusammenfassung gearbeitet erlebt vorgefallen unternommen ereignet zwischen sich termine geplant s wars`,
    words: {
      today: 'heute',
      yesterday: 'gestern',
      'before yesterday': 'vorgestern',
      last: `letzte letzten letzter letztes letztem vorige vorigen voriger voriges vorigem vergangene vergangenen
        vergangener vergangenes vergangenem`,
      'before last': 'vorletzte vorletzten vorletzter vorletztes vorletztem',
      this: 'diese diesen dieser dieses diesem aktuelle aktuellen',
      ago: 'vor',
      since: 'seit',
      until: 'bis',
      after: 'nach',
      and: 'und bis',
      day: 'tag tage tagen',
      week: 'woche wochen',
      weekend: 'wochenende wochenenden',
      month: 'monat monate monaten monats',
      quarter: 'quartal quartals',
      year: 'jahr jahre jahren jahres',
      night: 'nacht',
      'part of day': `morgen früh vormittag nachmittag abend mittag morgens vormittags nachmittags abends mittags`,
    },
    numbers:
      'ein|eine|einem|einer|ersten|erstes zwei|zweiten|zweites drei|dritten|drittes vier|vierten|viertes fünf sechs sieben acht neun zehn elf zwölf',
  },
  fr: {
    isMonthFirst: false,
    phrases: 'quoi de neuf|quoi de beau',
    fillers: `que qu qu'est qu'est-ce quoi quel quelle quels quelles qui où comment quand est est-ce ce c était c'était a ont
      avons ai avez as avait avaient été y il elle ils elles on nous je j tu vous me moi m mon ma mes notre nos le la les l
      un une des de du d au aux en à dans pour avec sur sont s se passe t entre fait faire faisait faisions
      parlé parlions discuté dit raconté mentionné écrit noté notes souvenirs quelque chose choses tout toutes tous rien
      nouveau raconte résume résumé bonjour salut merci encore donc arrivé eu lieu montre montre-moi donne liste pendant durant courant date dates avons-nous ai-je
      avait-on a-t-on a-t-il qu'a-t-on qu'avons-nous qu'ai-je qu'a-t-il qu'y qu'il plaît stp ci là prévu travaillé cours`,
    words: {
      today: 'aujourd hui|ce soir',
      yesterday: 'hier',
      'before yesterday': 'avant hier|',
      last: 'dernier dernière derniers dernières précédent précédente',
      'before last': 'avant dernier|avant dernière|avant derniers|avant dernières',
      past: 'passé passée passés passées',
      this: 'ce cette cet ces courant',
      ago: 'il y a|y a',
      since: 'depuis',
      before: 'avant',
      until: 'jusqu au|jusqu à|jusque',
      after: 'après',
      and: 'et|au|à|jusqu au',
      day: 'jour jours journée',
      week: 'semaine semaines',
      weekend: 'week end|week ends|weekend',
      month: 'mois',
      quarter: 'trimestre trimestres',
      year: 'an ans année années',
      night: 'nuit',
      'part of day': 'matin|soir|après midi|midi|matinée|soirée',
    },
    numbers: 'un|une|premier deux|deuxième trois|troisième quatre|quatrième cinq six sept huit neuf dix onze douze',
  },
  es: {
    isMonthFirst: false,
    fillers: `qué que cuál cuáles quién dónde cómo cuándo fue fueron era es son está hay hubo había ha han he hemos has haber
      yo nosotros nosotras tú él ella ellos ellas me nos te se mi mis nuestro nuestra el la lo los las un una unos unas de
      del al a en por para con sobre pasó pasado ocurrió sucedió hicimos hice hizo hacer hacíamos hecho hiciste hablamos
      hablado hablé dijo dije dicho comentamos mencioné mencionamos escribí anoté notas recuerdos algo todo nada nuevo
      nueva entre cosas cosa muéstrame muestra dame lista durante fecha tuvo lugar estuvimos estuve tal plan planes
      trabajamos trabajé anduvimos anduve cuéntame cuenta resumen resume resúmeme hola gracias otra vez`,
    words: {
      today: 'hoy|esta noche',
      yesterday: 'ayer anoche',
      'before yesterday': 'anteayer|antes de ayer|antier',
      last: 'última último últimos últimas anterior',
      past: 'pasado pasada pasados pasadas',
      'before last': 'penúltimo penúltima antepasado antepasada',
      this: 'este esta estos estas',
      ago: 'hace',
      since: 'desde|desde el',
      before: 'antes|antes de|antes del',
      until: 'hasta',
      after: 'después|después de|después del|tras',
      and: 'y al a hasta',
      day: 'día días',
      week: 'semana semanas',
      weekend: 'fin de semana|fines de semana|finde',
      month: 'mes meses',
      quarter: 'trimestre trimestres',
      year: 'año años',
      night: 'noche',
      'part of day': 'mañana tarde mediodía madrugada',
    },
    numbers:
      'un|una|uno|primer|primero dos|segundo tres|tercer cuatro|cuarto cinco seis siete ocho nueve diez once doce',
  },
  ja: {
    isUnspaced: true,
    isMonthFirst: true,
    isAgoBefore: true,
    fillers: `第 間 何 なに なん どんな どこ 誰 だれ いつ どう を が は も の に で と から へ や か ね よ な って という こと もの 事 私 僕 俺
      わたし ぼく 私たち 僕たち 我々 達 たち した しました しました？ していた してた しましたか したっけ したか やった やりました やってた
      やったっけ だった でした だっけ でしたっけ です だ あった ありました あったっけ ある あります いた いました 起きた 起こった 起きました
      起こりました 話した 話しました 話してた 話していた 話し 話 言った 言いました 言ってた について 会話 予定 出来事 メモ 記録 思い出 内容
      見せて 教えて ください 下さい みんな 全部 すべて 何か なにか ありますか ましたか ましたっけ まし た して い る っけ てた たか 頃 ごろ 分
      覚えて 一覧 書いた 決めた 行った 何をした`,
    words: {
      today: '今日 本日 きょう 今夜 今晩 今朝 けさ',
      yesterday: '昨日 きのう 昨夜 昨晩 ゆうべ 昨日の夜',
      'before yesterday': '一昨日 おととい おとつい',
      'before last': '先先 先々',
      last: '先 去 前の 昨 この前の 前回の 過去 直近 最近 ここ',
      this: '今 この',
      ago: '前',
      since: '以来 以降',
      before: '以前 より前',
      until: 'まで',
      after: '以後 より後 のあと の後',
      and: 'から と まで',
      day: '日 日間',
      week: '週間 週 週間 週',
      weekend: '週末',
      month: '月 か月 ヶ月 カ月 ヵ月 箇月 ヶ月間 か月間',
      quarter: '四半期',
      year: '年 年間',
      'part of day': '朝 午前 午後 夕方 夜 昼 晩 午前中',
    },
    numbers: '一 二 三 四 五 六 七 八 九 十 十一 十二',
  },
  zh: {
    isUnspaced: true,
    isMonthFirst: true,
    isAgoBefore: true,
    fillers: `第 什么 甚麼 什麼 啥 哪些 哪里 谁 誰 怎么 怎樣 的 了 呢 吗 嗎 吧 啊 在 我们 我們 我 你 你们 咱们 他 她 他们 大家 做 做过 干 干了 搞
      发生 發生 发生了 有 有没有 有什么 过 過 是 都 事 事情 聊 聊了 聊过 聊天 谈 谈了 谈到 談 談了 谈论 讨论 討論 说 说了 说过 說 記錄 记录
      笔记 筆記 回忆 记忆 內容 内容 关于 關於 哪些事 东西 一些 任何 给我 看看 告诉 告訴 安排 计划 计划了 这 那 那天 当天 期间 里 裡 中 那些 从 從 在 间 間 之间 之間
      新 些 到 见 決定 决定 时候 时 请 吃 去 完成 写 写了 新鲜 怎么样 怎麼樣 如何 咋样 总结 總結 一下`,
    words: {
      today: '今天 今日 今晚 今早 今晨',
      yesterday: '昨天 昨日 昨晚 昨夜',
      'before yesterday': '前天 前日',
      'before last': '上上 上上个 上上個',
      last: '上 上个 上個 上一个 上一個 去 过去 過去 最近 最近的 过去的 前',
      this: '这 这个 這 這個 本 今 这一 這一 当前',
      ago: '前 之前 以前',
      since: '自从 自 以来 以來 起 至今 到现在 到今天 到目前为止',
      until: '为止 直到',
      after: '之后 以后 後 后 之後 以後',
      and: '到 至 和 与 與',
      day: '天 日 号 號',
      week: '周 週 星期 礼拜 禮拜 个星期 个礼拜 個星期',
      weekend: '周末 週末',
      month: '月 个月 個月',
      quarter: '季度 季',
      year: '年',
      'part of day': '早上 上午 中午 下午 晚上 傍晚 凌晨 早晨 夜里',
    },
    numbers: '一 二|两|兩 三 四 五 六 七 八 九 十 十一 十二',
  },
};

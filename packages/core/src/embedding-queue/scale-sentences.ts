import type { ScriptGroup } from '@memoryd/search';

/**
 * Forty sentences about unlike things, each with a paraphrase, from which the ranges of a model's cosines are measured: ten
 * in each group of scripts. A change of an English sentence changes `WEIGHTS.cosines`.
 */
export const SCALE_SENTENCES: Readonly<
  Record<ScriptGroup, readonly (readonly [sentence: string, paraphrase: string])[]>
> = {
  latin: [
    ['The dentist moved my appointment to Thursday.', 'My visit to the dentist is on Thursday now.'],
    ['Lena is allergic to peanuts.', 'Lena must not eat peanuts, since she has an allergy.'],
    ['The server runs out of memory every night.', 'Each night, the server has no memory left.'],
    ['We painted the kitchen green.', 'The kitchen has new green paint.'],
    ['He learned to play the cello as a child.', 'As a boy he took cello lessons.'],
    ['The ferry to the island takes two hours.', 'It is a boat trip of two hours to the island.'],
    ['Our team won the final by one goal.', 'We won the last match, one goal ahead.'],
    ['She pays her rent on the first of each month.', 'Her rent is due when a month begins.'],
    ['The bees survived the winter well.', 'The bee colony came through the cold season.'],
    ['I prefer short answers without examples.', 'Please answer briefly and leave out examples.'],
  ],
  cyrillic: [
    ['Поезд в Казань отправляется в шесть утра.', 'В шесть часов утра уходит поезд на Казань.'],
    ['Моя сестра преподаёт химию в школе.', 'Сестра работает школьной учительницей химии.'],
    ['Кот не ест сухой корм.', 'Сухой корм кошка есть отказывается.'],
    ['Договор аренды заканчивается в марте.', 'Аренда действует только до марта.'],
    ['Мы посадили три яблони за домом.', 'За домом теперь растут три новые яблони.'],
    ['Пароль нужно менять каждые девяносто дней.', 'Раз в девяносто дней требуется новый пароль.'],
    ['Дедушка собирает старые монеты.', 'Дед увлекается коллекцией старинных монет.'],
    ['Врач запретил ему бегать.', 'По совету доктора он больше не бегает.'],
    ['Концерт перенесли из-за дождя.', 'Из-за ливня концерт состоится позже.'],
    ['Она пьёт кофе без сахара.', 'Сахар в кофе она не кладёт.'],
  ],
  arabic: [
    ['انتقلنا إلى شقة جديدة قرب الميناء.', 'نسكن الآن في شقة أخرى بجانب الميناء.'],
    ['يدرس أخي الهندسة في الجامعة.', 'أخي طالب هندسة جامعي.'],
    ['تعطلت السيارة على الطريق السريع.', 'توقفت السيارة عن العمل في الطريق السريع.'],
    ['لا أحب الطعام الحار.', 'أفضل ألا يكون الطعام حاراً.'],
    ['يبدأ الاجتماع في الساعة التاسعة.', 'موعد الاجتماع التاسعة صباحاً.'],
    ['قرأت رواية عن البحر.', 'انتهيت من قراءة قصة طويلة عن البحر.'],
    ['تزرع أمي الورد في الحديقة.', 'في حديقة أمي ورود زرعتها بنفسها.'],
    ['ارتفع سعر الخبز هذا العام.', 'صار الخبز أغلى في هذه السنة.'],
    ['نسيت مفتاح المكتب في البيت.', 'تركت مفتاح مكتبي في المنزل.'],
    ['ينام الطفل بعد الغداء.', 'بعد وجبة الغداء يأخذ الطفل قيلولة.'],
  ],
  han: [
    ['她的生日在七月。', '她是七月出生的。'],
    ['数据库每天凌晨备份。', '每天清晨会给数据库做一次备份。'],
    ['爷爷喜欢下象棋。', '下象棋是爷爷的爱好。'],
    ['我们公司搬到了上海。', '公司的新办公室在上海。'],
    ['他感冒了，没去上班。', '因为感冒，他请假在家。'],
    ['这条河里有很多鱼。', '河中鱼的数量很多。'],
    ['护照明年到期。', '到明年护照就失效了。'],
    ['她每周游泳两次。', '每个星期她去游两回泳。'],
    ['面条要煮八分钟。', '煮面需要八分钟的时间。'],
    ['邻居家的狗晚上叫。', '夜里能听到邻居的狗叫声。'],
  ],
};
